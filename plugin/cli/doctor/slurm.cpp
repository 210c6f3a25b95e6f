#include "core/base/text.h"
#include "core/config/environment.h"
#include "core/config/options.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/child.h"
#include "plugin/cli/launch/program_check.h"

#include <algorithm>

namespace megascope::cli {
namespace {

constexpr std::string_view kOurPrefix = "MEGASCOPE_";

/// Whether `word` can be the continuation of a list that was truncated at a comma.
bool is_item_of(std::string_view name, std::string_view word) {
  for (const config::OptionRow& row : config::option_rows()) {
    if (row.name != name) continue;
    if (row.accepts.kind == config::Accepts::Kind::kItems)
      return word.find("MPI_") != std::string_view::npos || word.starts_with('-');
    const std::vector<std::string_view> choices = config::choices_of(row);
    return row.accepts.kind == config::Accepts::Kind::kList &&
           std::ranges::find(choices, word) != choices.end();
  }
  return false;
}

std::vector<std::string> words_between_commas(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

Finding cut_value(const std::string& setting, const std::string& lost) {
  const std::string name = setting.substr(0, setting.find('='));
  return {Verdict::kProblem, "slurm",
          "--export splits at commas: the ranks get " + setting + " without " + lost,
          "Separate list items with +: " + setting + "+" + lost + "."};
}

Findings judge_plugins(const std::string& said) {
  const std::string first = said.substr(0, said.find('\n'));
  if (said.find("pmix") != std::string::npos)
    return {{Verdict::kOk, "slurm", "srun has its PMIx plugin (--mpi=pmix)", ""}};
  if (said.find("MPI plugin types") != std::string::npos ||
      said.find("pmi2") != std::string::npos) {
    return {{Verdict::kProblem, "slurm", "srun has no PMIx plugin, so --mpi=pmix does not work",
             "Start the ranks with mpirun inside the job, or have Slurm's pmix plugin installed."}};
  }
  return {{Verdict::kNote, "slurm",
           "srun --mpi=list lists no MPI plugin: " + (first.empty() ? "it printed nothing" : first),
           ""}};
}

std::string export_option(const std::vector<std::string>& command) {
  constexpr std::string_view kOption = "--export";
  for (std::size_t i = 1; i < command.size() && command[i] != "--"; ++i) {
    if (command[i] == kOption && i + 1 < command.size()) return command[i + 1];
    if (command[i].starts_with(std::string(kOption) + "="))
      return command[i].substr(kOption.size() + 1);
  }
  return {};
}

}  // namespace

Findings judge_export_list(const std::string& list, const std::vector<std::string>& set_names) {
  Findings findings;
  const std::vector<std::string> words = words_between_commas(list);
  std::string last_setting;
  std::vector<std::string> unsaid = set_names;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    std::erase(unsaid, name);
    if (word.starts_with(kOurPrefix) && word.find('=') != std::string::npos) {
      last_setting = word;
    } else if (!last_setting.empty() &&
               is_item_of(last_setting.substr(0, last_setting.find('=')), word)) {
      findings.push_back(cut_value(last_setting, word));
    } else {
      last_setting.clear();
    }
  }
  const bool has_all = std::ranges::find(words, "ALL") != words.end();
  if (!list.empty() && !has_all && !unsaid.empty()) {
    findings.push_back({Verdict::kProblem, "slurm",
                        "--export without ALL: the ranks do not get " + joined(unsaid, " "),
                        "Add ALL or these names to --export."});
  }
  return findings;
}

Findings judge_srun(const std::vector<std::string>& command,
                    const std::vector<std::string>& set_names) {
  return judge_export_list(export_option(command), set_names);
}

Findings check_slurm(const Subject& subject) {
  const bool is_in_job = !config::environment_value("SLURM_JOB_ID").empty();
  const bool is_wanted = is_in_job || subject.kind == LauncherKind::kSrun;
  if (find_program("srun").empty()) {
    if (!is_wanted) return {{Verdict::kOk, "slurm", "no srun in PATH", ""}};
    return {{Verdict::kProblem, "slurm", "inside a Slurm job, but srun is not in PATH",
             "Add Slurm's programs to PATH, or use mpirun."}};
  }
  config::set_environment_value("LD_PRELOAD",
                                "");  // affects only this check's process, which only queries srun
  Findings findings = judge_plugins(output_of({"srun", "--mpi=list"}, OutputOf::kBoth));
  const std::string type = config::environment_value("SLURM_MPI_TYPE");
  if (type == "none" || type == "pmi2") {
    findings.push_back({Verdict::kNote, "slurm",
                        "SLURM_MPI_TYPE=" + type + ": MegaScope was tested with pmix only", ""});
  }
  std::vector<std::string> names;
  for (const std::string& entry : config::environment_entries())
    names.push_back(entry.substr(0, entry.find('=')));
  const bool is_typed = subject.kind == LauncherKind::kSrun &&
                        !export_option(subject.command).empty();
  const Findings handed_on = is_typed ? judge_srun(subject.command, names)
                                      : judge_export_list(
                                            config::environment_value("SLURM_EXPORT_ENV"), names);
  findings.insert(findings.end(), handed_on.begin(), handed_on.end());
  return findings;
}

}  // namespace megascope::cli
