#include "plugin/cli/worlds.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>

#include "core/trace/reader.h"

namespace megascope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFoldersLookedAt = 10'000;

/// What a run folder says of its world.
struct World {
  std::string name;
  std::string parent;
  std::int64_t start_ns = 0;  ///< since the epoch
};

std::int64_t start_of(const ProcessInfo& info) {
  return info.clock_points.empty() ? 0 : info.clock_points.front().realtime_ns;
}

/// Rank 0's trace of the run in `folder`. That of a run that has not ended in good order is in scratch storage.
bool open_first(const std::string& folder, std::unique_ptr<trace::TraceFile>& file) {
  if (trace::TraceFile::open(folder + "/" + trace::trace_file_name(0), file).is_ok()) return true;
  trace::RunId id;
  return trace::read_run_id(folder, id) && trace::TraceFile::open(id.scratch_folder + "/" + trace::trace_file_name(0), file).is_ok();
}

/// False: no run, or not one whose rank 0 is here.
bool read_world(const std::string& folder, World& world) {
  std::unique_ptr<trace::TraceFile> file;
  if (!open_first(folder, file)) return false;
  const ProcessInfo& info = file->definitions().info;
  world = {info.world, info.parent_world, start_of(info)};
  return true;
}

/// A real directory, no link, of the owner of `run`: what other users put beside a run does not count.
bool is_of_same_owner(const std::string& folder, const struct stat& run) {
  struct stat info {};
  const bool is_directory = lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  const bool is_run = info.st_dev == run.st_dev && info.st_ino == run.st_ino;
  return is_directory && !is_run && info.st_uid == run.st_uid;
}

/// Run folders beside `folder`, of its owner, whose world is as asked for, ascending. Named as `folder` is.
std::vector<std::string> find_beside(const std::string& folder, const std::function<bool(const World&, const std::string&)>& is_wanted) {
  const std::string plain = folder.substr(0, folder.find_last_not_of('/') + 1);
  const fs::path parent = fs::path(plain).parent_path();
  std::vector<std::string> found;
  struct stat run {};
  if (stat(plain.c_str(), &run) != 0) return found;
  std::error_code error;
  std::size_t looked_at = 0;
  for (fs::directory_iterator entry(parent.empty() ? "." : parent, error), end; !error && entry != end; entry.increment(error)) {
    if (++looked_at > kMostFoldersLookedAt) break;
    World world;
    const std::string path = (parent / entry->path().filename()).string();
    if (!is_of_same_owner(path, run)) continue;
    if (read_world(path, world) && is_wanted(world, path)) found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

const ProcessInfo& info_of(const trace::RunSource& run) { return run.process(run.world_ranks().front()).info; }

}  // namespace

std::vector<std::string> runs_started_by(const trace::RunSource& run, const std::string& folder) {
  const ProcessInfo& info = info_of(run);
  if (info.world.empty()) return {};
  const std::int64_t start_ns = start_of(info);
  // What a run started that did not end may have begun after its last record.
  constexpr std::int64_t kLatestAfter_ns = 60'000'000'000;
  const std::int64_t after_ns = info.end_state == EndState::kFinalized ? 0 : kLatestAfter_ns;
  const std::int64_t end_ns = run.start_realtime_ns() + static_cast<std::int64_t>(run.end_ns()) + after_ns;
  return find_beside(folder, [&](const World& world, const std::string&) {
    return world.parent == info.world && world.start_ns >= start_ns && world.start_ns <= end_ns;
  });
}

std::string run_that_started(const trace::RunSource& run, const std::string& folder) {
  const ProcessInfo& info = info_of(run);
  if (info.parent_world.empty()) return {};
  const std::int64_t start_ns = start_of(info);
  std::int64_t latest_ns = 0;  // launchers use names again
  std::string latest;
  find_beside(folder, [&](const World& world, const std::string& path) {
    const bool is_later = world.name == info.parent_world && world.start_ns <= start_ns && world.start_ns > latest_ns;
    if (!is_later) return false;
    latest_ns = world.start_ns;
    latest = path;
    return true;
  });
  return latest;
}

}  // namespace megascope::cli
