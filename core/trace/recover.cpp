#include "core/trace/recover.h"

#include "core/trace/header_file.h"
#include "core/trace/reader.h"
#include "core/trace/run_files.h"
#include "core/trace/scratch_home.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <time.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;

bool exists(const files::Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

/// Treatment of a trace whose writer has not provably ended.
enum class Unproven { kCopy, kLeave };

/// Moves the trace if its writer has ended, else copies it.
Status bring(const OpenTrace& source, Liveness life, const FilePlace& to, bool& is_new) {
  if (life != Liveness::kGone) return copy_running_trace(source, to, is_new);
  is_new = true;
  const Status status = move_trace(source, to);
  if (status.is_ok()) change_header(to.directory, to.name, {.is_gone = true});
  return status;
}

/// Takes one trace. from: a run's directory in scratch storage, named by its run id.
void take(const files::Base& from, const std::string& run_id, const std::string& name,
          const files::Base& run, Unproven unproven, RecoverResult& result) {
  OpenTrace source;
  Status status = open_trace({from, name}, source);
  if (!status.is_ok()) {
    if (exists(from, name)) result.problems.push_back(status.message() + "; it was not moved");
    return;  // else its process or another recovery has moved it
  }
  if (run_id != std::string_view(source.header.run_id,
                                 strnlen(source.header.run_id, sizeof source.header.run_id))) {
    result.problems.push_back(source.place.path() + " is of another run; it was not moved");
    return;
  }
  const Liveness life = liveness_of_writer(source.file.number(), source.header);
  if (life == Liveness::kUnknown && unproven == Unproven::kLeave) {
    ++result.unproven_count;
    return;
  }
  const FilePlace to{run, name};
  bool is_new = false;
  status = bring(source, life, to, is_new);
  if (!status.is_ok()) {
    result.problems.push_back(status.message());
    return;
  }
  if (life == Liveness::kRuns)
    result.problems.push_back("process of " + name + " still runs: its trace so far was copied");
  if (life == Liveness::kUnknown) {
    result.problems.push_back(
        source.place.path() +
        " was copied, not moved: its process may still run on another machine or in another " +
        "PID namespace; remove it when the job has ended");
  }
  if (is_new) result.recovered.push_back(to.path());
}

/// Waits until no other recovery works on this directory, for a limited time: two at once lose
/// nothing, and a stopped process or a file system without locks must not block this one.
void lock(int directory) {
  constexpr int kMaxTries = 100;
  constexpr timespec kPause{0, 100'000'000};
  for (int tries = 0;
       tries < kMaxTries && flock(directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
       ++tries) {
    nanosleep(&kPause, nullptr);
  }
}

/// Removes what killed processes left of traces, reports and options: unlocked parts, and
/// "<trace>.part" of version 0.1 next to the complete trace. Not of exports, which take long: on a
/// file server without locks one might be written elsewhere.
void remove_parts(const files::Base& run) {
  constexpr std::string_view kPart = ".part";
  std::set<std::string> parts;
  for (const std::string& name : files::names_in(run, kMaxEntries)) {
    if (!name.ends_with(kPart)) continue;
    std::string trace = name.substr(0, name.size() - kPart.size());
    files::Descriptor file;
    if (!is_trace_file_name(trace)) {
      parts.insert(trace.substr(0, trace.rfind('.')));
    } else if (exists(run, trace) &&
               files::open_existing(run, name, O_RDONLY, files::Owner::kThisUserOnly, file)
                   .is_ok()) {
      unlinkat(run.directory, name.c_str(), 0);
    }
  }
  for (const std::string& name : parts) {
    const bool is_of_run = name == kReportTextFile || name == kReportJsonFile ||
                           name == kOptionsFile || name == kRunIdFile;
    if (is_of_run || is_trace_file_name(name)) files::remove_stale_parts(run, name);
  }
}

/// One run directory and the state of its recovery.
struct Recovery {
  OpenDirectory run;
  RunId id;
  bool has_id = false;
  Unproven unproven = Unproven::kCopy;
  std::set<std::pair<dev_t, ino_t>> seen{};  ///< scratch directories already inspected
};

/// Takes all traces of a run. home: parent of the run's directory, which is removed if it is empty
/// afterwards.
void take_all(const OpenDirectory& home, const std::string& run_id, Recovery& recovery,
              RecoverResult& result) {
  OpenDirectory source;
  struct stat info {};
  if (!open_scratch_run(home.base(), run_id, source, result.problems)) return;
  if (fstat(source.opened.number(), &info) != 0 ||
      !recovery.seen.emplace(info.st_dev, info.st_ino).second)
    return;
  lock(source.opened.number());
  remove_parts(recovery.run.base());  // a second name of a copy would prevent its update
  for (const std::string& name : files::names_in(source.base(), kMaxEntries)) {
    if (is_trace_file_name(name))
      take(source.base(), run_id, name, recovery.run.base(), recovery.unproven, result);
  }
  unlinkat(home.opened.number(), run_id.c_str(), AT_REMOVEDIR);  // succeeds only if empty
}

void examine_trace(const files::Base& directory, const std::string& name, RecoverResult& result) {
  std::unique_ptr<TraceFile> trace;
  const Status readable = TraceFile::open(directory, name, trace);
  if (!readable.is_ok()) {
    result.problems.push_back(readable.message());
    return;
  }
  const ProcessInfo& info = trace->definitions().info;
  if (liveness_of(info) == Liveness::kGone) change_header(directory, name, {.is_gone = true});
  ++result.trace_count;
  result.world_size = std::max(result.world_size, info.world_size);
  result.ranks.push_back(info.world_rank);
}

/// Collects the traces that the run directory has now, including those of standalone ranks.
void examine_run(const OpenDirectory& run, RecoverResult& result) {
  for (const std::string& name : files::names_in(run.base(), kMaxEntries)) {
    if (is_trace_file_name(name)) examine_trace(run.base(), name, result);
    if (!name.starts_with(kStandaloneDirectoryPrefix)) continue;
    OpenDirectory standalone;
    standalone.path = run.path + "/" + name;
    if (!files::open_own_directory(run.base(), name, standalone.opened).is_ok()) continue;
    for (const std::string& inner : files::names_in(standalone.base(), kMaxEntries)) {
      if (is_trace_file_name(inner)) examine_trace(standalone.base(), inner, result);
    }
  }
  std::ranges::sort(result.ranks);
  result.ranks.erase(std::unique(result.ranks.begin(), result.ranks.end()), result.ranks.end());
}

Status open_run(const std::string& directory_path, Recovery& recovery) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(directory_path, error);
  if (error || !std::filesystem::is_directory(real, error))
    return Status::error(directory_path + " is not a directory");
  recovery.run.path = directory_path;
  const Status status = files::open_own_directory(files::current_directory(), real.string(),
                                                  recovery.run.opened);
  // A user with write permission to the run directory could put the id of another run of this user
  // there, to receive its traces.
  const auto read = [&](files::Owner owner) {
    return read_run_id(recovery.run.base(), recovery.id, owner);
  };
  if (status.is_ok()) recovery.has_id = read(files::Owner::kThisUserOnly);
  if (status.is_ok() && !recovery.has_id && read(files::Owner::kAnyone)) {
    return Status::error("cannot use " + directory_path + "/" + kRunIdFile +
                         ": it belongs to another user, or has more than one name (hard links)");
  }
  return status;
}

/// Takes the traces of a run's directory in scratch storage given by path.
void take_from(const std::filesystem::path& place, Recovery& recovery, RecoverResult& result) {
  OpenDirectory home;
  home.path = place.parent_path().string();
  if (!is_scratch_home_name(place.parent_path().filename().string())) return;
  if (!files::open_private_directory(home.path, home.opened).is_ok())
    return;  // open_scratch_homes() has reported why
  take_all(home, place.filename().string(), recovery, result);
}

Status conclude(const Recovery& recovery, RecoverResult& result) {
  const OpenDirectory& run = recovery.run;
  const RunId& id = recovery.id;
  remove_parts(run.base());
  examine_run(run, result);
  if (result.trace_count != 0) return Status::ok();
  if (!result.problems.empty()) return Status::error(run.path + " holds no readable trace");
  if (!recovery.has_id)
    return Status::error(run.path +
                         " is not a run directory: it has neither a trace nor a run-id file");
  return Status::error("no trace of run " + id.id + " is left on this node in " +
                       id.scratch_directory + (id.nodes.empty() ? "" : "; it ran on " + id.nodes));
}

}  // namespace

Status recover_run(const std::string& directory_path, RecoverResult& result,
                   const std::vector<std::string>& scratches) {
  Recovery recovery;
  const Status status = open_run(directory_path, recovery);
  if (!status.is_ok()) return status;
  std::vector<std::string> places = scratches;
  places.insert(places.begin(), recovery.id.scratch);
  for (const std::string& scratch : places) {
    if (!recovery.has_id) break;
    for (const OpenDirectory& home : open_scratch_homes(scratch, result.problems))
      take_all(home, recovery.id.id, recovery, result);
  }
  if (recovery.has_id) take_from(recovery.id.scratch_directory, recovery, result);
  return conclude(recovery, result);
}

Status recover_leftover(const Leftover& left, RecoverResult& result) {
  Recovery recovery;
  recovery.unproven = Unproven::kLeave;
  const Status status = open_run(left.run_directory, recovery);
  if (!status.is_ok()) return status;
  take_from(left.scratch_directory, recovery, result);
  if (recovery.has_id) take_from(recovery.id.scratch_directory, recovery, result);
  const Status concluded = conclude(recovery, result);
  return result.unproven_count != 0 ? Status::ok() : concluded;
}

}  // namespace megascope::trace
