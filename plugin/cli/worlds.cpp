#include "plugin/cli/worlds.h"

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

/// False: no run, or not one whose rank 0 is here. Of a run that has not ended in good order its trace lies in scratch.
bool read_world(const std::string& folder, World& world) {
  std::string path = folder + "/" + trace::trace_file_name(0);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    trace::RunId id;
    if (!trace::read_run_id(folder, id)) return false;
    path = id.scratch_folder + "/" + trace::trace_file_name(0);
    if (!fs::is_regular_file(path, error)) return false;
  }
  std::unique_ptr<trace::TraceFile> file;
  if (!trace::TraceFile::open(path, file).is_ok()) return false;
  const ProcessInfo& info = file->definitions().info;
  world = {info.world, info.parent_world, start_of(info)};
  return true;
}

/// Run folders beside `folder` whose world is as asked for, ascending. Named as `folder` is.
std::vector<std::string> find_beside(const std::string& folder, const std::function<bool(const World&, const std::string&)>& is_wanted) {
  const std::string plain = folder.substr(0, folder.find_last_not_of('/') + 1);
  const fs::path parent = fs::path(plain).parent_path();
  std::vector<std::string> found;
  std::error_code error;
  std::size_t looked_at = 0;
  for (fs::directory_iterator entry(parent.empty() ? "." : parent, error), end; !error && entry != end; entry.increment(error)) {
    if (++looked_at > kMostFoldersLookedAt) break;
    if (!entry->is_directory(error) || fs::equivalent(entry->path(), plain, error)) continue;
    World world;
    const std::string path = (parent / entry->path().filename()).string();
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
