#include "core/trace/recover.h"

#include "core/base/text.h"
#include "core/config/environment.h"
#include "core/trace/run_files.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"

#include <algorithm>
#include <cstdio>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

/// Reports which ranks' traces are missing and where they may be.
void report_missing(const std::string& directory, const trace::RecoverResult& result) {
  const std::string missing = missing_ranks_text(result.ranks, result.world_size);
  if (missing.empty()) return;
  trace::RunId id;
  const bool has_nodes = trace::read_run_id(directory, id) && !id.nodes.empty();
  say(missing + "; their traces may be on other nodes" + (has_nodes ? " of " + id.nodes : "") +
      ": run this command there" + (has_nodes ? ", or collect.sh" : ""));
}

/// For root, which may not write to run directories of other users: the command to run as the
/// owner. Empty: `directory` belongs to this user.
std::string command_of_owner(const std::string& directory) {
  struct stat info {};
  if (geteuid() != 0 || stat(directory.c_str(), &info) != 0 || info.st_uid == 0) return {};
  const std::string user = std::to_string(info.st_uid);
  const passwd* const entry = getpwuid(
      // The directory's group may be that of a project, so groups are initialized from the user.
      info.st_uid);
  const std::string group = std::to_string(entry == nullptr ? info.st_gid : entry->pw_gid);
  return ": setpriv --reuid=" + user + " --regid=" + group +
         (entry == nullptr ? " --clear-groups" : " --init-groups") + " megascope recover " +
         shell_quoted(directory);
}

int print_result(const RecoverArguments& arguments, const std::string& directory,
                 const Status& status, const trace::RecoverResult& result) {
  for (const std::string& problem : result.problems) say(problem);
  if (!status.is_ok()) {
    if (!arguments.is_quiet || !result.problems.empty()) say(status.message());
    return kUnusable;
  }
  for (const std::string& path : result.recovered)
    std::printf("recovered %s\n", printable(path).c_str());
  if (arguments.is_quiet || result.trace_count == 0) return kSuccess;
  std::printf("%zu %s in %s; see `megascope report %s`\n", result.trace_count,
              result.trace_count == 1 ? "trace" : "traces", printable(directory).c_str(),
              printable(shell_quoted(directory)).c_str());
  report_missing(directory, result);
  return kSuccess;
}

/// Default directories of buffers, used without MEGASCOPE_SCRATCH.
std::vector<std::string> usual_scratches() {
  std::vector<std::string> directories;
  for (const std::string& directory :
       {config::environment_value("MEGASCOPE_SCRATCH"), config::environment_value("TMPDIR"),
        std::string("/tmp"), std::string("/var/tmp"), std::string("/dev/shm")}) {
    const bool is_new = std::ranges::find(directories, directory) == directories.end();
    if (!directory.empty() && is_new) directories.push_back(directory);
  }
  return directories;
}

void report_unproven(const trace::Leftover& left, std::size_t count) {
  if (count == 0) return;
  const std::string who = count == 1
                              ? "1 trace was not moved: its process"
                              : std::to_string(count) + " traces were not moved: their processes";
  say(left.scratch_directory + ": " + who +
      " may still be running on another machine or in another PID namespace; use `megascope "
      "recover " +
      shell_quoted(left.run_directory) + "` to copy them");
}

int recover_all(const RecoverArguments& arguments, const std::vector<std::string>& scratches) {
  int worst = kSuccess;
  std::vector<std::string> problems;
  const std::vector<trace::Leftover> all = trace::find_leftovers(scratches, &problems);
  for (const std::string& problem : problems) say(problem);
  for (const trace::Leftover& left : all) {
    if (left.is_running) {
      if (!arguments.is_quiet)
        say(left.scratch_directory + " belongs to a run that is still active; it was not moved");
    } else if (left.run_directory.empty()) {
      say(left.scratch_directory + " was not moved: its run directory is not visible here");
      worst = kUnusable;
    } else {
      trace::RecoverResult result;
      const Status status = trace::recover_leftover(left, result);
      worst = std::max(worst, print_result(arguments, left.run_directory, status, result));
      if (!arguments.is_quiet) report_unproven(left, result.unproven_count);
    }
  }
  return worst;
}

}  // namespace

int recover_traces(const RecoverArguments& arguments) {
  const std::vector<std::string> scratches = arguments.scratches.empty() ? usual_scratches()
                                                                         : arguments.scratches;
  if (arguments.is_for_all) return recover_all(arguments, scratches);
  trace::RecoverResult result;
  const Status status = trace::recover_run(arguments.directory, result, scratches);
  const std::string command = status.is_ok() ? std::string()
                                             : command_of_owner(arguments.directory);
  return print_result(arguments, arguments.directory,
                      command.empty() ? status : Status::error(status.message() + command), result);
}

}  // namespace megascope::cli
