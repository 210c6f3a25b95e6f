#include "plugin/cli/launch/launcher.h"

#include "core/base/text.h"

#include <algorithm>

namespace megascope::cli {
namespace {

constexpr std::string_view kPreloadName = "LD_PRELOAD";
constexpr std::string_view kPreloadSetting = "LD_PRELOAD=";
constexpr std::string_view kExportOption = "--export";

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Matches "mpirun" and "mpirun.openmpi" for "mpirun".
bool is_named(std::string_view name, std::string_view wanted) {
  return name == wanted || (name.starts_with(wanted) && name[wanted.size()] == '.');
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](std::string_view one) { return is_named(name, one); });
}

/// Open MPI's option -x, which applies to one of the programs between colons only. If the user
/// already passes LD_PRELOAD, the user's libraries are appended to ours in the same option.
std::vector<std::string> with_settings(const Preload& preload, std::vector<std::string> words) {
  bool is_set = false;
  std::vector<std::string> named;  // variables that the user already passes
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "-x" && words[i] != "--x") continue;
    std::string& setting = words[i + 1];
    named.push_back(setting.substr(0, setting.find('=')));
    if (setting == kPreloadName) {
      setting = std::string(kPreloadSetting) + preload_value(preload);
    } else if (setting.starts_with(kPreloadSetting)) {
      setting.insert(kPreloadSetting.size(), preload.library + ":");
    } else {
      continue;
    }
    is_set = true;
  }
  std::vector<std::string> added;
  if (!is_set) added = {"-x", std::string(kPreloadSetting) + preload_value(preload)};
  for (const std::string& name : preload.variables) {
    if (std::find(named.begin(), named.end(), name) == named.end())
      added.insert(added.end(), {"-x", name});
  }
  words.insert(words.begin(), added.begin(), added.end());
  return words;
}

void add_open_mpi(const Preload& preload, std::vector<std::string>& command) {
  std::vector<std::string> whole = {command.front()};
  for (auto begin = command.begin() + 1;;) {
    const auto end = std::find(begin, command.end(), ":");
    const std::vector<std::string> words = with_settings(preload, {begin, end});
    whole.insert(whole.end(), words.begin(), words.end());
    if (end == command.end()) break;
    whole.push_back(*end);
    begin = end + 1;
  }
  command = std::move(whole);
}

/// Hydra passes its environment on; only LD_PRELOAD needs an option.
void add_hydra(const Preload& preload, std::vector<std::string>& command) {
  command.insert(command.begin() + 1, {"-genv", std::string(kPreloadName), preload_value(preload)});
}

/// The --export list for srun: the user's list plus ours. NONE and NIL cannot be combined with
/// names, so they are replaced by the list, which without ALL exports just as little.
std::string export_list(const Preload& preload, const std::string& users) {
  std::vector<std::string> kept;
  std::string behind = preload.existing;
  for (const std::string& word : split_at_commas(users)) {
    if (word == "NONE" || word == "NIL" || word == kPreloadName) continue;
    if (word.starts_with(kPreloadSetting))
      behind = word.substr(kPreloadSetting.size());
    else
      kept.push_back(word);
  }
  Preload merged = preload;
  merged.existing = behind;
  kept.push_back(std::string(kPreloadSetting) + preload_value(merged));
  const bool has_all = std::find(kept.begin(), kept.end(), "ALL") != kept.end();
  if (!has_all) kept.insert(kept.end(), preload.variables.begin(), preload.variables.end());
  return joined(kept, ",");
}

void add_srun(const Preload& preload, std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size() && command[i] != "--"; ++i) {
    if (command[i] == kExportOption && i + 1 < command.size()) {
      command[i + 1] = export_list(preload, command[i + 1]);
      return;
    }
    const std::string with_value = std::string(kExportOption) + "=";
    if (command[i].starts_with(with_value)) {
      command[i] = with_value + export_list(preload, command[i].substr(with_value.size()));
      return;
    }
  }
  const std::string users = preload.slurm_export.empty() ? "ALL" : preload.slurm_export;
  command.insert(command.begin() + 1,
                 std::string(kExportOption) + "=" + export_list(preload, users));
}

}  // namespace

LauncherKind launcher_kind(std::string_view typed, std::string_view resolved_path) {
  const std::string_view name = base_name(typed);
  const std::string_view resolved = base_name(resolved_path);
  if (is_named(name, "srun")) return LauncherKind::kSrun;
  if (is_any(resolved, {"orterun", "prterun", "prun"}) || name.ends_with(".openmpi") ||
      is_named(name, "orterun")) {
    return LauncherKind::kOpenMpi;
  }
  if (resolved.ends_with(".hydra") || name.ends_with(".mpich") || name.ends_with(".hydra"))
    return LauncherKind::kHydra;
  return is_any(name, {"mpirun", "mpiexec"}) ? LauncherKind::kMpi : LauncherKind::kNone;
}

LauncherKind launcher_kind_by_version(std::string_view version_text) {
  const std::string text = lower_case(version_text);
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has("open mpi") || has("open rte") || has("openrte") || has("prrte"))
    return LauncherKind::kOpenMpi;
  return has("hydra") || has("mpich") || has("intel(r) mpi") ? LauncherKind::kHydra
                                                             : LauncherKind::kMpi;
}

std::string preload_value(const Preload& preload) {
  return preload.existing.empty() ? preload.library : preload.library + ":" + preload.existing;
}

Status add_preload(LauncherKind kind, const Preload& preload, std::vector<std::string>& command) {
  switch (kind) {
    case LauncherKind::kNone:
      return Status::ok();
    case LauncherKind::kOpenMpi:
      add_open_mpi(preload, command);
      return Status::ok();
    case LauncherKind::kHydra:
      add_hydra(preload, command);
      return Status::ok();
    case LauncherKind::kSrun:
      if (preload_value(preload).find(',') != std::string::npos) {
        return Status::error("srun --export does not support a path with a comma: " +
                             preload_value(preload));
      }
      add_srun(preload, command);
      return Status::ok();
    case LauncherKind::kMpi:
      break;
  }
  return Status::error("cannot determine the MPI of the launcher " + command.front() +
                       "; start MegaScope from it: `" + command.front() +
                       " -n 4 megascope run -- ./app`");
}

}  // namespace megascope::cli
