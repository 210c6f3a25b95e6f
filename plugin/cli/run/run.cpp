#include "plugin/cli/run/run.h"

#include "core/base/text.h"
#include "core/base/write_signals.h"
#include "core/config/environment.h"
#include "core/config/options.h"
#include "core/trace/reader.h"
#include "core/trace/recover.h"
#include "core/trace/run_files.h"
#include "exporters/report/nothing_recorded.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/child.h"
#include "plugin/cli/launch/launcher.h"
#include "plugin/cli/launch/program_check.h"
#include "plugin/cli/launch/started.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

/// `megascope run`: preloads the library into the ranks, and only into them.
namespace megascope::cli {
namespace {

namespace fs = std::filesystem;
using config::environment_value;

constexpr std::uint64_t
    kFirstPseudoStep = 4'294'967'290;  // Slurm's batch and interactive steps have no ranks

/// Whether this process was itself started as a rank of a job.
bool is_started_as_rank() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (!environment_value(name).empty()) return true;
  }
  const auto step = parse_count(environment_value("SLURM_STEP_ID"));
  return step.has_value() && *step < kFirstPseudoStep;
}

std::vector<std::string> variable_names(const std::vector<Setting>& settings) {
  std::set<std::string> names;
  for (const std::string& entry : config::environment_entries())
    names.insert(entry.substr(0, entry.find('=')));
  for (const Setting& setting : settings) names.insert(setting.name);
  return {names.begin(), names.end()};
}

/// MEGASCOPE_OUT as the ranks will see it: from our option, the launcher's command line or the
/// environment; empty: not set.
std::string wanted_directory(const RunArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  constexpr std::string_view kSetting = "MEGASCOPE_OUT=";
  for (const std::string& word : arguments.command) {
    if (word.starts_with(kSetting)) return word.substr(kSetting.size());
  }
  return environment_value("MEGASCOPE_OUT");
}

/// The beginning of the run directory's path.
struct DirectoryPrefix {
  std::string path;
  /// Under srun without a name from the user: the path ends with job and step.
  bool is_of_step = false;
};

/// The first rank creates the run directory, possibly on another node and with another working
/// directory. The path is therefore made absolute, so that it can be found here; except under srun,
/// where the default name contains the step.
DirectoryPrefix directory_prefix(const RunArguments& arguments, LauncherKind kind,
                                 std::vector<Setting>& settings) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const std::string wanted = wanted_directory(arguments);
  if (!wanted.empty()) return {(here / wanted).lexically_normal().string()};
  if (kind == LauncherKind::kSrun)
    return {.path = (here / ("megascope-" + environment_value("SLURM_JOB_ID"))).string(),
            .is_of_step = true};
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof host - 1);
  const std::string node = std::string(host).substr(0, std::string(host).find('.'));
  const std::string name = "megascope-" + node + "-" + std::to_string(getpid());
  settings.push_back({"MEGASCOPE_OUT", (here / name).string()});
  return {settings.back().value};
}

void drop_digits(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
}

/// Whether `name` is a run directory that the library creates for `wanted`: the name itself or with
/// suffix "-2", "-3", … For the name of a step, the step and (if srun starts a job of its own) the
/// job number come in between: "megascope-1234.0-2".
bool is_name_for(std::string_view name, const DirectoryPrefix& wanted) {
  if (!name.starts_with(wanted.path)) return false;
  std::string_view rest = name.substr(wanted.path.size());
  if (wanted.is_of_step) {
    if (wanted.path.ends_with('-')) drop_digits(rest);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    drop_digits(rest);
  }
  if (rest.empty()) return true;
  const bool has_number = rest.size() > 1 && rest.front() == '-';
  rest.remove_prefix(1);
  drop_digits(rest);
  return has_number && rest.empty();
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

/// Directories of this user that may be run directories of this run.
std::set<std::string> directories_from(DirectoryPrefix wanted) {
  while (wanted.path.size() > 1 && wanted.path.ends_with('/')) wanted.path.pop_back();
  const fs::path parent = fs::path(wanted.path).parent_path();
  std::set<std::string> directories;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    const std::string path = entry.path().string();
    if (is_name_for(path, wanted) && is_own_directory(path)) directories.insert(path);
  }
  return directories;
}

void explain_nothing(const std::vector<std::string>& command, LauncherKind kind,
                     const DirectoryPrefix& prefix, const ChildEnd& end) {
  report::NothingRecorded facts;
  facts.subject = command.front();
  if (end.signal != 0)
    facts.subject += ", killed by signal " + std::to_string(end.signal);
  else if (end.exit_code != 0)
    facts.subject += ", ended with exit code " + std::to_string(end.exit_code);
  if (parse_bool(environment_value("MEGASCOPE_ENABLE")).value_or(true)) {
    facts.excluded = {report::NothingCause::kDisabled};
  } else {
    facts.found = {report::NothingCause::kDisabled};
    facts.details = {""};
  }
  const std::string program = started_program(command, kind);
  if (!program.empty()) check_program(program, facts);
  const std::string page = report::nothing_recorded_text(facts);
  std::fputs(page.c_str(), stderr);
  if (facts.found.empty())
    say("no new run directory " + prefix.path + (prefix.is_of_step ? "*" : ""));
}

/// Waits until the writers of the traces have ended; processes may outlive their launcher briefly,
/// and a trace is moved only when its process has ended. False: some are still running, e.g. those
/// of another job with the same directory name.
bool have_writers_ended(const trace::RunId& id) {
  constexpr int kMaxTries = 20;
  constexpr useconds_t kPauseUs = 100'000;
  const auto is_written = [](const std::string& path) {
    std::unique_ptr<trace::TraceFile> file;
    return trace::TraceFile::open(path, file).is_ok() &&
           trace::liveness_of(file->definitions().info) == trace::Liveness::kRuns;
  };
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (!std::ranges::any_of(trace::find_traces(id.scratch_directory), is_written)) return true;
    usleep(kPauseUs);
  }
  return false;
}

/// Recovers a run whose ranks were killed or ended without MPI_Finalize: moves the traces on this
/// node to the run directory. Takes bounded time if the file system responds. Interrupting it with
/// ctrl-C loses nothing.
void recover_cut_short(const std::string& directory) {
  trace::RunId id;
  trace::OpenDirectory run;
  const bool has_id = trace::open_given_directory(directory, run).is_ok() &&
                      trace::read_run_id(run.base(), id, files::Owner::kThisUserOnly);
  if (has_id && !have_writers_ended(id)) {
    say("processes still write to " + directory +
        "; when they have ended, run `megascope recover " + shell_quoted(directory) + "`");
    return;
  }
  trace::RecoverResult result;
  const Status status = trace::recover_run(directory, result);
  for (const std::string& problem : result.problems) say(problem);
  const std::string command = "`megascope recover " + shell_quoted(directory) + "`";
  if (!status.is_ok()) {
    const bool is_elsewhere = has_id &&
                              !is_own_directory(
                                  // Or the directory of another job that started meanwhile.
                                  id.scratch_directory);
    say(directory +
        (is_elsewhere
             ? " has no trace yet, and scratch storage here has none: the job is running "
               "elsewhere, "
               "was killed or did not call MPI_Finalize; "
             : " has no trace yet: the program was killed or did not call MPI_Finalize; ") +
        command + " on its nodes recovers its traces");
    return;
  }
  const std::string of = shell_quoted(directory);
  say("the run ended early: recovered " + std::to_string(result.recovered.size()) +
      (result.recovered.size() == 1 ? " trace" : " traces") + " into " + directory +
      "; see `megascope report " + of + "` and `megascope analyze " + of + "`");
  const std::string missing = missing_ranks_text(result.ranks, result.world_size);
  if (!missing.empty()) say(missing + "; " + command + " on their nodes recovers their traces");
}

/// Recovers the new run directories without a report, which rank 0 writes last. If the job
/// succeeded and there are traces, the report may just not be visible here yet.
void recover_all_cut_short(const std::set<std::string>& directories,
                           const std::set<std::string>& before, const ChildEnd& end) {
  for (const std::string& directory : directories) {
    std::error_code error;
    const bool has_ended_well = end.signal == 0 && end.exit_code == 0 &&
                                !trace::find_traces(directory).empty();
    if (has_ended_well) continue;
    const bool is_run = fs::exists(fs::path(directory) / trace::kRunIdFile, error);
    if (!before.contains(directory) && is_run &&
        !fs::exists(fs::path(directory) / trace::kReportTextFile, error))
      recover_cut_short(directory);
  }
}

std::vector<Setting> wanted_settings(const RunArguments& arguments) {
  std::vector<Setting> settings;
  if (!arguments.out.empty()) settings.push_back({"MEGASCOPE_OUT", arguments.out});
  if (!arguments.exports.empty()) settings.push_back({"MEGASCOPE_EXPORT", arguments.exports});
  return settings;
}

}  // namespace

int run_command(const RunArguments& arguments) {
  std::string directory;
  Status status = find_library_directory(directory);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  std::vector<Setting> settings = wanted_settings(arguments);
  constexpr const char* kInjection = "NVTX_INJECTION64_PATH";
  if (MEGASCOPE_HAS_NVTX && environment_value(kInjection).empty())
    settings.push_back({kInjection, directory + "/" + kLibraryName});
  Preload preload{.library = directory + "/" + kLibraryName,
                  .existing = environment_value("LD_PRELOAD"),
                  .variables = {},
                  .slurm_export = environment_value("SLURM_EXPORT_ENV")};
  const Setting own_preload{"LD_PRELOAD", preload_value(preload)};
  std::vector<std::string> command = arguments.command;
  if (is_started_as_rank()) {
    settings.push_back(own_preload);
    say(become(command, settings).message());
    return kUnusable;
  }
  const LauncherKind kind = kind_of(command.front());
  const DirectoryPrefix prefix = directory_prefix(arguments, kind, settings);
  preload.variables = variable_names(settings);
  if (kind == LauncherKind::kNone) settings.push_back(own_preload);
  if (kind == LauncherKind::kSrun) {
    for (const Finding& one : judge_srun(command, {})) say(one.text + ". " + one.remedy);
  }
  status = add_preload(kind, preload, command);
  const std::set<std::string> before = directories_from(prefix);
  ChildEnd end;
  if (status.is_ok()) status = run_child(command, settings, end);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const std::set<std::string> after = directories_from(prefix);
  if (after == before) explain_nothing(arguments.command, kind, prefix, end);
  {
    const WriteSignalsBlocked blocked;
    recover_all_cut_short(after, before, end);
  }
  end_like(end);
}

}  // namespace megascope::cli
