#include "plugin/cli/run_directory/worlds.h"

#include "core/trace/reader.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <sys/stat.h>

namespace megascope::cli {
namespace {

constexpr std::size_t kMaxDirectoriesLookedAt = 10'000;

/// The world of a run.
struct World {
  std::string name;
  std::string parent;
  std::int64_t start_ns = 0;  ///< since the epoch
};

std::int64_t start_of(const ProcessInfo& info) {
  return info.clock.points.empty() ? 0 : info.clock.points.front().realtime_ns;
}

/// Opens rank 0's trace. If the run did not end properly, the trace is in scratch storage.
bool open_first(const trace::OpenDirectory& directory, std::unique_ptr<trace::TraceFile>& file) {
  if (trace::TraceFile::open(directory.base(), trace::trace_file_name(0), file).is_ok())
    return true;
  trace::RunId id;
  trace::OpenDirectory scratch;
  return trace::read_run_id(directory.base(), id, files::Owner::kThisUser) &&
         trace::open_given_directory(id.scratch_directory, scratch).is_ok() &&
         trace::TraceFile::open(scratch.base(), trace::trace_file_name(0), file).is_ok();
}

/// False: not a run, or rank 0's trace is not available.
bool read_world(const trace::OpenDirectory& directory, World& world) {
  std::unique_ptr<trace::TraceFile> file;
  if (!open_first(directory, file)) return false;
  const ProcessInfo& info = file->definitions().info;
  world = {info.world.name, info.world.parent, start_of(info)};
  return true;
}

bool are_same(const trace::OpenDirectory& one, const trace::OpenDirectory& other) {
  struct stat a {};
  struct stat b {};
  return fstat(one.opened.number(), &a) == 0 && fstat(other.opened.number(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Run directories in the parent of `directory`, of the same owner, whose world satisfies the
/// condition, ascending. Paths are formed like `directory`. Ignores links and directories of other
/// users.
std::vector<std::string> find_beside(
    const std::string& directory,
    const std::function<bool(const World&, const std::string&)>& is_wanted) {
  const std::string plain = directory.substr(0, directory.find_last_not_of('/') + 1);
  const std::filesystem::path parent_path = std::filesystem::path(plain).parent_path();
  std::vector<std::string> found;
  trace::OpenDirectory run;
  trace::OpenDirectory parent;
  if (!trace::open_given_directory(plain, run).is_ok()) return found;
  if (!trace::open_given_directory(parent_path.empty() ? "." : parent_path.string(), parent)
           .is_ok())
    return found;
  for (const std::string& name : files::names_in(parent.base(), kMaxDirectoriesLookedAt)) {
    World world;
    trace::OpenDirectory beside;
    if (!trace::open_inner_directory(parent, name, run, beside).is_ok() || are_same(run, beside))
      continue;
    const std::string path = (parent_path / name).string();
    if (read_world(beside, world) && is_wanted(world, path)) found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

const ProcessInfo& info_of(const trace::RunSource& run) {
  return run.process(run.world_ranks().front()).info;
}

}  // namespace

std::vector<std::string> runs_started_by(const trace::RunSource& run,
                                         const std::string& directory) {
  const ProcessInfo& info = info_of(run);
  if (info.world.name.empty()) return {};
  const std::int64_t start_ns = start_of(info);
  // A run that did not end properly may have spawned another one after its last record.
  constexpr std::int64_t kLatestAfter_ns = 60'000'000'000;
  const std::int64_t after_ns = info.end_state == EndState::kFinalized ? 0 : kLatestAfter_ns;
  const std::int64_t end_ns = run.start_realtime_ns() + static_cast<std::int64_t>(run.end_ns()) +
                              after_ns;
  return find_beside(directory, [&](const World& world, const std::string&) {
    return world.parent == info.world.name && world.start_ns >= start_ns &&
           world.start_ns <= end_ns;
  });
}

std::string run_that_started(const trace::RunSource& run, const std::string& directory) {
  const ProcessInfo& info = info_of(run);
  if (info.world.parent.empty()) return {};
  const std::int64_t start_ns = start_of(info);
  std::int64_t latest_ns = 0;  // launchers reuse names
  std::string latest;
  find_beside(directory, [&](const World& world, const std::string& path) {
    const bool is_later = world.name == info.world.parent && world.start_ns <= start_ns &&
                          world.start_ns > latest_ns;
    if (!is_later) return false;
    latest_ns = world.start_ns;
    latest = path;
    return true;
  });
  return latest;
}

}  // namespace megascope::cli
