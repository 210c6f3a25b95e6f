#include "core/trace/join.h"

#include "core/base/safe_file.h"
#include "core/trace/header_file.h"
#include "core/trace/reader.h"
#include "core/trace/recover.h"
#include "core/trace/run_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

namespace megascope::trace {
namespace fs = std::filesystem;

namespace {

/// The trace of one rank in one of the fragments.
struct Part {
  std::string path;
  ProcessInfo info;
  std::uint64_t used_bytes = 0;
};
using Parts = std::map<std::int32_t, Part>;

/// Properties of the job, each from the first trace that has it.
class Job {
 public:
  /// Returns why `part` cannot be of this job; empty if nothing contradicts, and then adds its
  /// properties.
  std::string difference(const Part& part) {
    std::string reason = compare("the launcher's job names are", {part.info.world.name, part.path},
                                 world_);
    if (reason.empty()) reason = compare("the Slurm steps are", {part.info.job, part.path}, step_);
    return reason;
  }

 private:
  struct Name {
    std::string text;  ///< empty: unknown
    std::string path;  ///< trace that has it
  };
  static std::string compare(const char* what, Name name, Name& known) {
    if (known.text.empty()) std::swap(known, name);
    if (name.text.empty() || name.text == known.text) return {};
    return known.path + " and " + name.path + " are of different jobs: " + what + " " + known.text +
           " and " + name.text;
  }

  Name world_;
  Name step_;
};

Status add(Part part, Parts& parts) {
  const auto same = parts.find(part.info.world_rank);
  if (same == parts.end()) {
    parts.emplace(part.info.world_rank, std::move(part));
    return Status::ok();
  }
  Part& taken = same->second;
  const bool is_same_process = taken.info.pid == part.info.pid &&
                               taken.info.run_id == part.info.run_id;
  if (!is_same_process) {
    return Status::error("rank " + std::to_string(part.info.world_rank) + " is in " + taken.path +
                         " and in " + part.path + ", from different processes");
  }
  if (part.used_bytes > taken.used_bytes) taken = std::move(part);
  return Status::ok();
}

std::vector<std::string> traces_of(const std::string& fragment) {
  std::error_code error;
  if (!fs::is_regular_file(fragment, error)) return find_traces(fragment);
  const fs::path real = fs::canonical(fragment, error);  // follows a link that the user named
  return {error ? fragment : real.string()};
}

Status read_fragment(const std::string& fragment, std::vector<Part>& parts,
                     std::vector<std::string>& problems) {
  std::error_code error;
  if (!fs::exists(fragment, error)) return Status::error(fragment + " does not exist");
  bool has_any = false;
  for (const std::string& path : traces_of(fragment)) {
    std::unique_ptr<TraceFile> file;
    const Status status = TraceFile::open(path, file);
    if (!status.is_ok()) {
      problems.push_back(status.message());
      continue;
    }
    has_any = true;
    parts.push_back(
        {.path = path, .info = file->definitions().info, .used_bytes = file->used_bytes()});
  }
  return has_any ? Status::ok() : Status::error(fragment + " holds no readable trace");
}

/// Omits traces that state another world size than most, which are damaged. Returns an error if
/// they may be of another world.
Status settle_world_size(std::vector<Part>& parts, std::vector<std::string>& problems) {
  std::map<std::int32_t, std::size_t> counts;
  for (const Part& part : parts) ++counts[part.info.world_size];
  const Part reference = *std::ranges::max_element(
      parts, {}, [&](const Part& part) { return counts[part.info.world_size]; });
  const auto differs = [&](const Part& part) {
    return part.info.world_size != reference.info.world_size;
  };
  for (const Part& part : parts) {
    if (!differs(part)) continue;
    const bool is_same_world = part.info.run_id == reference.info.run_id ||
                               (!part.info.world.name.empty() &&
                                part.info.world.name == reference.info.world.name);
    const std::string size = std::to_string(part.info.world_size);
    const std::string reference_size = std::to_string(reference.info.world_size);
    if (!is_same_world)
      return Status::error(part.path + " and " + reference.path +
                           " are of different jobs: the world sizes are " + size + " and " +
                           reference_size);
    problems.push_back(part.path + " is damaged and was omitted: it records a world size of " +
                       size + ", but " + reference.path + " of the same world records " +
                       reference_size);
  }
  std::erase_if(parts, differs);
  return Status::ok();
}

Status sort_by_rank(std::vector<Part> all, Parts& parts, std::vector<std::string>& problems) {
  Status status = settle_world_size(all, problems);
  Job job;
  for (Part& part : all) {
    if (!status.is_ok()) return status;
    const std::string reason = job.difference(part);
    status = reason.empty() ? add(std::move(part), parts) : Status::error(reason);
  }
  return status;
}

/// Notes when no launcher or run id can tell jobs apart.
void note_doubt(const Parts& parts, std::vector<std::string>& problems) {
  const Part& first = parts.begin()->second;
  const bool is_of_one_run = std::ranges::all_of(
      parts, [&](const auto& part) { return part.second.info.run_id == first.info.run_id; });
  const bool has_unnamed = std::ranges::any_of(parts, [](const auto& part) {
    return part.second.info.world.name.empty() && part.second.info.job.empty();
  });
  if (has_unnamed && !is_of_one_run)
    problems.push_back(
        "some traces do not name the launcher's job: make sure that all fragments are of one job");
}

/// Copies the other files of a run directory from where the trace of the lowest rank came.
void copy_notes(const Parts& parts, const fs::path& run_directory,
                std::vector<std::string>& problems) {
  const fs::path from = fs::path(parts.begin()->second.path).parent_path();
  for (const char* name : {kRunIdFile, kOptionsFile}) {
    std::error_code error;
    if (!fs::exists(from / name, error)) continue;
    const Status status = copy_file((from / name).string(), (run_directory / name).string(),
                                    files::Owner::kAnyoneOneName);
    if (!status.is_ok()) problems.push_back(status.message());
  }
}

/// A fragment may be the trace in scratch storage, or a copy, for which only the identity is valid.
Liveness liveness_of_part(const Part& part) {
  const Liveness by_identity = liveness_of(part.info);
  OpenTrace trace;
  if (by_identity != Liveness::kUnknown ||
      !open_trace({files::current_directory(), part.path}, trace).is_ok())
    return by_identity;
  const Liveness by_file = liveness_of_writer(trace.file.number(), trace.header);
  return by_file == Liveness::kRuns ? by_file : Liveness::kUnknown;
}

Status copy_part(const Part& part, const fs::path& run_directory, const std::string& run_id,
                 std::vector<std::string>& problems) {
  const std::string to = (run_directory / trace_file_name(part.info.world_rank)).string();
  const Status status = copy_file(part.path, to);
  if (!status.is_ok()) return status;
  const bool runs = liveness_of_part(part) == Liveness::kRuns &&
                    part.info.end_state == EndState::kRunning;
  if (runs)
    problems.push_back("rank " + std::to_string(part.info.world_rank) +
                       " still runs: its trace so far was copied");
  change_header(to, {.is_gone = !runs, .is_together = true, .run_id = run_id});
  return Status::ok();
}

Status copy_all(const Parts& parts, const std::string& run_directory, JoinResult& result) {
  for (const auto& [rank, part] : parts) {
    const Status status = copy_part(part, run_directory, parts.begin()->second.info.run_id,
                                    result.problems);
    if (!status.is_ok()) return status;
    result.world_size = part.info.world_size;
    result.ranks.push_back(rank);
  }
  copy_notes(parts, run_directory, result.problems);
  return Status::ok();
}

}  // namespace

Status join_run(const std::vector<std::string>& fragments, const std::string& run_directory,
                JoinResult& result) {
  std::vector<Part> all;
  for (const std::string& fragment : fragments) {
    const Status status = read_fragment(fragment, all, result.problems);
    if (!status.is_ok()) return status;
  }
  Parts parts;
  const Status sorted = sort_by_rank(std::move(all), parts, result.problems);
  if (!sorted.is_ok()) return sorted;
  note_doubt(parts, result.problems);
  Status status = files::make_directory(run_directory, 0777);
  if (!status.is_ok()) return status;
  status = copy_all(parts, run_directory, result);
  std::error_code error;
  if (!status.is_ok()) fs::remove_all(run_directory, error);  // created here, with copies only
  return status;
}

}  // namespace megascope::trace
