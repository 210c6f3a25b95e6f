#include "core/trace/reader.h"
#include "core/trace/recover.h"
#include "core/trace/run_files.h"
#include "core/trace/scratch_home.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

namespace megascope::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kMaxProblems = 8;

/// Returns the id of a run directory of this user; empty if it is none. Does not follow links or
/// read directories of others.
std::string id_of(const std::string& directory_path) {
  OpenDirectory run;
  run.path = directory_path;
  RunId id;
  if (!files::open_own_directory(files::current_directory(), directory_path, run.opened).is_ok())
    return {};
  return read_run_id(run.base(), id, files::Owner::kThisUserOnly) ? id.id : std::string();
}

/// Finds run directories by their ids. Reads each directory once.
class RunDirectories {
 public:
  /// Returns the run directory with this id: `asked_for`; a sibling, if rank 0 chose another name;
  /// a directory inside, for a standalone rank. Empty: none.
  std::string find(const fs::path& asked_for, const std::string& run_id) {
    if (id_of(asked_for.string()) == run_id) return asked_for.string();
    const std::string beside = found_in(asked_for.parent_path(), run_id);
    return beside.empty() ? found_in(asked_for, run_id) : beside;
  }

 private:
  using Directories = std::map<std::string, std::string>;  ///< by run id

  std::string found_in(const fs::path& parent, const std::string& run_id) {
    auto known = known_.find(parent.string());
    if (known == known_.end()) {
      if (known_.size() >= kMaxKnown) known_.clear();
      known = known_.emplace(parent.string(), read(parent)).first;
    }
    const auto directory_path = known->second.find(run_id);
    return directory_path == known->second.end() ? std::string() : directory_path->second;
  }

  static Directories read(const fs::path& parent) {
    Directories directories;
    for (const std::string& name : files::names_in(parent.string(), kMaxEntries)) {
      const std::string directory_path = (parent / name).string();
      const std::string id = id_of(directory_path);
      if (!id.empty()) directories.emplace(id, directory_path);
    }
    return directories;
  }

  static constexpr std::size_t kMaxKnown = 1000;
  std::map<std::string, Directories> known_;
};

std::string run_directory_of(const files::Base& directory, const std::string& trace_name,
                             const std::string& run_id, RunDirectories& directories) {
  std::unique_ptr<TraceFile> trace;
  if (!TraceFile::open(directory, trace_name, trace).is_ok()) return {};
  const std::string& asked_for = trace->definitions().info.run_directory;
  return asked_for.empty() ? std::string() : directories.find(asked_for, run_id);
}

std::vector<std::string> traces_in(const OpenDirectory& run) {
  std::vector<std::string> names = files::names_in(run.base(), kMaxEntries);
  std::erase_if(names, [](const std::string& name) { return !is_trace_file_name(name); });
  return names;
}

/// Returns false if there is no trace (any more).
bool examine(const OpenDirectory& run, const std::string& run_id, RunDirectories& directories,
             Leftover& left) {
  const std::vector<std::string> names = traces_in(run);
  for (const std::string& name : names) {
    OpenTrace trace;
    if (!open_trace({run.base(), name}, trace).is_ok()) continue;
    left.is_running = left.is_running ||
                      liveness_of_writer(trace.file.number(), trace.header) == Liveness::kRuns;
    if (left.run_directory.empty())
      left.run_directory = run_directory_of(run.base(), name, run_id, directories);
  }
  if (names.empty() || !left.run_directory.empty()) return !names.empty();
  return !traces_in(run).empty();  // another recovery may have moved them meanwhile
}

}  // namespace

std::vector<Leftover> find_leftovers(const std::vector<std::string>& scratches,
                                     std::vector<std::string>* problems) {
  std::vector<Leftover> found;
  std::vector<std::string> all_problems;
  RunDirectories directories;
  for (const std::string& scratch : scratches) {
    for (const OpenDirectory& home : open_scratch_homes(scratch, all_problems)) {
      std::vector<std::string> of_runs;
      for (const std::string& run_id : files::names_in(home.base(), kMaxEntries)) {
        OpenDirectory run;
        if (!open_scratch_run(home.base(), run_id, run, of_runs)) continue;
        Leftover left{.scratch = scratch,
                      .scratch_directory = run.path,
                      .run_directory = {},
                      .is_running = false};
        if (examine(run, run_id, directories, left)) found.push_back(std::move(left));
      }
      all_problems.insert(all_problems.end(), of_runs.begin(), of_runs.end());
    }
  }
  if (problems != nullptr) {
    all_problems.resize(std::min(all_problems.size(), kMaxProblems * scratches.size()));
    *problems = std::move(all_problems);
  }
  return found;
}

}  // namespace megascope::trace
