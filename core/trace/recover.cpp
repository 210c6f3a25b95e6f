#include "core/trace/recover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/first_line.h"
#include "core/trace/header_file.h"
#include "core/trace/reader.h"
#include "core/trace/run_folder.h"

namespace megascope::trace {
namespace fs = std::filesystem;

namespace {

Status copy_bytes(int from, int to, const std::string& name) {
  off_t at = 0;
  for (;;) {
    ssize_t copied = copy_file_range(from, &at, to, nullptr, std::size_t{1} << 30, 0);
    if (copied < 0 && (errno == EXDEV || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP)) {
      char buffer[1 << 16];
      copied = pread(from, buffer, sizeof buffer, at);
      if (copied > 0) {
        const ssize_t written = write(to, buffer, static_cast<std::size_t>(copied));
        if (written != copied) return Status::from_errno("cannot write " + name, written < 0 ? errno : ENOSPC);
        at += copied;
      }
    }
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return Status::from_errno("cannot write " + name, errno);
    if (copied == 0) return Status::ok();
  }
}

/// Ended, and its parent has not asked how.
bool is_zombie(std::int64_t pid) {
  const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "Z") == 0;
}

/// Does the process that writes this trace still run here?
bool is_running(const std::string& path) {
  FileHeader header{};
  const bool is_unfinished = read_header(path, header) && header.end_ticks == 0;
  return is_unfinished && header.pid > 0 && kill(static_cast<pid_t>(header.pid), 0) == 0 && !is_zombie(header.pid);
}

/// Of one process: one is a copy that was taken while it ran.
bool are_of_one_process(const std::string& a, const std::string& b) {
  FileHeader one{};
  FileHeader other{};
  return read_header(a, one) && read_header(b, other) && one.pid == other.pid && one.world_rank == other.world_rank &&
         std::memcmp(one.run_id, other.run_id, sizeof one.run_id) == 0;
}

void take(const fs::path& from, const fs::path& to, RecoverResult& result) {
  std::error_code error;
  if (fs::exists(to, error) && !are_of_one_process(from.string(), to.string())) {
    result.problems.push_back(to.string() + " is there already; " + from.string() + " was left where it is");
    return;
  }
  const bool runs = is_running(from.string());
  if (runs) fs::remove(to, error);
  const Status status = runs ? copy_file(from.string(), to.string()) : move_trace(from.string(), to.string());
  if (!status.is_ok()) {
    result.problems.push_back(status.message());
    return;
  }
  if (runs) result.problems.push_back("process of " + to.filename().string() + " still runs: its trace so far was copied");
  else change_header(to.string(), {.is_gone = true});
  result.recovered.push_back(to.string());
}

/// Where a run folder of this id lies: the one asked for, or beside it under a name that rank 0 chose; solo ranks' are inside.
std::string run_folder_with(const fs::path& asked_for, const std::string& run_id) {
  const auto is_it = [&](const fs::path& folder) {
    RunId id;
    return read_run_id(folder.string(), id) && id.id == run_id;
  };
  std::error_code error;
  std::vector<fs::path> candidates = {asked_for};
  for (const fs::directory_entry& entry : fs::directory_iterator(asked_for.parent_path(), error)) candidates.push_back(entry.path());
  for (const fs::path& candidate : candidates) {
    if (is_it(candidate)) return candidate.string();
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(asked_for, error)) {
    if (is_it(entry.path())) return entry.path().string();
  }
  return {};
}

std::string run_folder_of(const std::string& trace_path, const std::string& run_id) {
  std::unique_ptr<TraceFile> trace;
  if (!TraceFile::open(trace_path, trace).is_ok()) return {};
  const std::string& asked_for = trace->definitions().info.run_folder;
  return asked_for.empty() ? std::string() : run_folder_with(asked_for, run_id);
}

}  // namespace

Status copy_file(const std::string& from, const std::string& to) {
  const std::string part = to + ".part";
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return Status::from_errno("cannot open " + from, errno);
  const int target = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (target < 0) {
    const Status status = Status::from_errno("cannot make " + part, errno);
    close(source);
    return status;
  }
  Status status = copy_bytes(source, target, part);
  close(source);
  if (close(target) != 0) status.update(Status::from_errno("cannot write " + part, errno));
  if (status.is_ok() && link(part.c_str(), to.c_str()) != 0) status = Status::from_errno("cannot make " + to, errno);
  unlink(part.c_str());
  return status;
}

Status move_file(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return Status::ok();
  if (errno != EXDEV && errno != EINVAL && errno != ENOSYS) {
    return Status::from_errno("cannot move " + from + " to " + to, errno);
  }
  Status status = copy_file(from, to);
  if (status.is_ok()) unlink(from.c_str());
  return status;
}

Status move_trace(const std::string& from, const std::string& to) {
  std::error_code error;
  if (fs::exists(to, error) && are_of_one_process(from, to)) fs::remove(to, error);
  return move_file(from, to);
}

Liveness liveness_of(const ProcessInfo& info) {
  // Behind what the clock claims to be there may be what sets it apart.
  const bool is_here = info.pid > 0 && info.clock_domain.starts_with(clock::domain(info.clock == ClockKind::kTsc));
  if (!is_here) return Liveness::kUnknown;
  const bool runs = kill(static_cast<pid_t>(info.pid), 0) == 0 || errno == EPERM;
  return runs && !is_zombie(info.pid) ? Liveness::kRuns : Liveness::kGone;
}

std::vector<Leftover> find_leftovers(const std::vector<std::string>& scratches) {
  std::vector<Leftover> found;
  for (const std::string& scratch : scratches) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(scratch_folder_of(scratch, ""), error)) {
      Leftover left{.scratch = scratch, .scratch_folder = entry.path().string(), .run_folder = {}, .is_running = false};
      const std::vector<std::string> paths = find_traces(left.scratch_folder);
      for (const std::string& path : paths) {
        left.is_running = left.is_running || is_running(path);
        if (left.run_folder.empty()) left.run_folder = run_folder_of(path, entry.path().filename().string());
      }
      if (!paths.empty()) found.push_back(std::move(left));
    }
  }
  return found;
}

Status recover_run(const std::string& folder, RecoverResult& result, const std::vector<std::string>& scratches) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Status::error(folder + " is not a folder");
  RunId id;
  const bool has_id = read_run_id(folder, id);
  std::vector<std::string> sources;
  if (has_id) sources.push_back(id.scratch_folder);
  for (const std::string& scratch : scratches) {
    if (has_id) sources.push_back(scratch_folder_of(scratch, id.id));
  }
  for (const std::string& source : sources) {
    for (const std::string& path : find_traces(source)) {
      take(path, fs::path(folder) / fs::path(path).filename(), result);
    }
    fs::remove(source, error);  // only when empty
  }
  for (const std::string& path : find_traces(folder)) {
    std::unique_ptr<TraceFile> trace;
    const Status readable = TraceFile::open(path, trace);
    if (!readable.is_ok()) {
      result.problems.push_back(readable.message());
      continue;
    }
    if (!is_running(path)) change_header(path, {.is_gone = true});
    ++result.trace_count;
    const ProcessInfo& info = trace->definitions().info;
    result.world_size = std::max(result.world_size, info.world_size);
    result.ranks.push_back(info.world_rank);
  }
  std::ranges::sort(result.ranks);
  if (result.trace_count != 0) return Status::ok();
  if (!result.problems.empty()) return Status::error(folder + " holds no readable trace");
  if (!has_id) return Status::error(folder + " is not a run folder: it has neither a trace nor a run-id file");
  return Status::error("no trace of run " + id.id + " is left on this node in " + id.scratch_folder +
                       (id.nodes.empty() ? "" : "; it ran on " + id.nodes));
}

}  // namespace megascope::trace
