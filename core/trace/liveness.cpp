#include "core/trace/liveness.h"

#include "core/base/first_line.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr char kBootIdFile[] = "/proc/sys/kernel/random/boot_id";

/// Fields of /proc/<pid>/stat. state 0: not readable.
struct ProcessStat {
  char state = 0;
  std::uint64_t thread_count = 0;
  std::uint64_t start_ticks = 0;
};

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// proc(5): field 2, the name, is in parentheses and may contain blanks and parentheses.
ProcessStat stat_of(const std::string& process) {
  constexpr int kState = 3;
  constexpr int kThreadCount = 20;
  constexpr int kStartTime = 22;
  ProcessStat result;
  const std::string line = first_line("/proc/" + process + "/stat");
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return result;
  std::string_view rest = std::string_view(line).substr(name_end + 2);
  for (int field = kState; field <= kStartTime && !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (field == kState) result.state = word.front();
    if (field == kThreadCount) result.thread_count = number_in(word);
    if (field == kStartTime) result.start_ticks = number_in(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return result;
}

/// Returns whether /proc shows this PID namespace. It may show another one (unshare --pid without
/// --mount-proc), whose pids differ.
bool is_proc_of_this_namespace() {
  char target[32];
  const ssize_t size = readlink("/proc/self", target, sizeof target);
  return size > 0 &&
         std::string_view(target, static_cast<std::size_t>(size)) == std::to_string(getpid());
}

/// Returns whether the process is in this process's time namespace. The kernel shifts start times
/// by the offset of the reader's namespace.
bool is_in_this_time_namespace(std::int64_t pid) {
  struct stat theirs {};
  struct stat mine {};
  if (stat("/proc/self/ns/time", &mine) != 0) return true;  // a kernel without time namespaces
  return stat(("/proc/" + std::to_string(pid) + "/ns/time").c_str(), &theirs) == 0 &&
         theirs.st_ino == mine.st_ino;
}

Liveness liveness_here(std::int64_t pid, std::uint64_t start_ticks) {
  const int error_number = kill(static_cast<pid_t>(pid), 0) == 0 ? 0 : errno;
  if (error_number == ESRCH) return Liveness::kGone;
  const ProcessStat stat = is_proc_of_this_namespace() ? stat_of(std::to_string(pid))
                                                       : ProcessStat{};
  if (stat.state == 0) return Liveness::kRuns;  // or /proc hides processes of other users
  const bool is_another = stat.start_ticks != 0 && stat.start_ticks != start_ticks;
  if (is_another)
    return error_number == EPERM || is_in_this_time_namespace(pid) ? Liveness::kGone
                                                                   : Liveness::kUnknown;
  // The first thread may end before the others: then the process is in state Z too.
  const bool is_zombie = (stat.state == 'Z' || stat.state == 'X') && stat.thread_count <= 1;
  return is_zombie ? Liveness::kGone : Liveness::kRuns;
}

Liveness liveness_by_identity(std::int64_t pid, const ProcessIdentity& identity) {
  const bool is_known = pid > 0 && !identity.boot_id.empty() && identity.pid_namespace != 0 &&
                        identity.start_ticks != 0;
  if (!is_known) return Liveness::kUnknown;
  const ProcessIdentity here = this_process();
  if (identity.boot_id != here.boot_id || identity.pid_namespace != here.pid_namespace)
    return Liveness::kUnknown;
  return liveness_here(pid, identity.start_ticks);
}

/// Returns whether one kernel at a time mounts this file system. statfs(2) f_type.
bool is_of_this_kernel_only(int file) {
  constexpr std::uint32_t kTypes[] = {0xEF53 /* ext */,       0x58465342 /* XFS */,
                                      0xF2F52010 /* F2FS */,  0x3153464A /* JFS */,
                                      0x01021994 /* tmpfs */, 0x858458F6 /* ramfs */};
  struct statfs info {};
  if (fstatfs(file, &info) != 0) return false;
  for (const std::uint32_t type : kTypes) {
    if (static_cast<std::uint32_t>(info.f_type) == type) return true;
  }
  return false;
}

enum class Lease { kNotAsked, kGranted, kRefused };

/// Takes and returns a read lease, which exists only while no process can write to the file.
Lease ask_for_lease(int file) {
  if (!is_of_this_kernel_only(file)) return Lease::kNotAsked;
  (void)fcntl(file, F_SETSIG,
              SIGURG);  // signal of a broken lease: SIGURG is ignored, SIGIO would end the process
  if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
    (void)fcntl(file, F_SETLEASE, F_UNLCK);
    return Lease::kGranted;
  }
  return errno == EAGAIN ? Lease::kRefused : Lease::kNotAsked;
}

}  // namespace

ProcessIdentity this_process() {
  ProcessIdentity identity;
  identity.boot_id = first_line(kBootIdFile);
  struct stat info {};
  if (stat("/proc/self/ns/pid", &info) == 0) identity.pid_namespace = info.st_ino;
  identity.start_ticks = stat_of("self").start_ticks;
  return identity;
}

ProcessIdentity identity_in(const FileHeader& header) {
  return {.boot_id = {header.boot_id, strnlen(header.boot_id, sizeof header.boot_id)},
          .pid_namespace = header.pid_namespace,
          .start_ticks = header.process_start_ticks};
}

Liveness liveness_of(const ProcessInfo& info) {
  return liveness_by_identity(info.pid, info.identity);
}

Liveness liveness_of_writer(int file, const FileHeader& header) {
  const Liveness by_identity = liveness_by_identity(header.pid, identity_in(header));
  if (by_identity == Liveness::kRuns) return by_identity;
  const Lease lease = ask_for_lease(file);
  if (lease == Lease::kRefused) return Liveness::kRuns;
  const bool is_proof = lease == Lease::kGranted && header.is_mapped != 0;
  return is_proof ? Liveness::kGone : by_identity;
}

}  // namespace megascope::trace
