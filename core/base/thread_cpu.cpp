#include "core/base/thread_cpu.h"

#include "core/base/errno_kept.h"
#include "core/base/no_cancel.h"

#include <charconv>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace megascope {
namespace {

constexpr char kPath[] = "/proc/thread-self/schedstat";
constexpr int kMinNumber = 512;  // lowest number of our descriptor: applications expect low
                                 // numbers for their own files

/// Parses "<CPU time> <time on the run queue> <time slices>\n", in ns. Returns false if no time
/// slice is counted: a running thread has had one, so the kernel does not account.
bool parse_schedstat(const char* text, const char* end, std::uint64_t& wait_ns) noexcept {
  std::uint64_t numbers[3] = {};
  for (std::uint64_t& number : numbers) {
    const auto [after, error] = std::from_chars(text, end, number);
    if (error != std::errc{} || after == end || (*after != ' ' && *after != '\n')) return false;
    text = after + 1;
  }
  wait_ns = numbers[1];
  return text == end && numbers[2] != 0;
}

}  // namespace

void ThreadCpuReader::open() noexcept {
  const NoCancel no_cancel;  // open() and close() are cancellation points
  state_ = kAbsent;
  const int low = ::open(kPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (low < 0) return;
  const int high = ::fcntl(low, F_DUPFD_CLOEXEC, kMinNumber);
  if (high >= 0) ::close(low);
  file_ = high >= 0 ? high : low;
  struct stat info {};
  if (::fstat(file_, &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  state_ = kOpen;
}

/// Returns whether the descriptor still refers to the file that open() opened: the application may
/// close all descriptors and reuse the numbers.
bool ThreadCpuReader::is_ours() const noexcept {
  struct stat info {};
  return ::fstat(file_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

std::uint64_t ThreadCpuReader::read_wait() noexcept {
  if (state_ == kNotOpened) open();
  if (state_ == kOpen && !is_ours()) open();
  if (state_ != kOpen) return ThreadCpu::kUnknown;
  char text[96];
  const long size = ::syscall(SYS_pread64, file_, text, sizeof text,
                              0L);  // pread() is a cancellation point
  std::uint64_t wait_ns = 0;
  return size > 0 && parse_schedstat(text, text + size, wait_ns) ? wait_ns : ThreadCpu::kUnknown;
}

ThreadCpu ThreadCpuReader::read() noexcept {
  const ErrnoKept errno_kept;
  ThreadCpu now;
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) ==
      0) {  // exact; schedstat is as old as the last timer tick
    now.cpu_ns = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                 static_cast<std::uint64_t>(time.tv_nsec);
  }
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0)
    now.switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  now.wait_ns = read_wait();
  return now;
}

void ThreadCpuReader::close() noexcept {
  const ErrnoKept errno_kept;
  const NoCancel no_cancel;
  if (state_ == kOpen && is_ours()) ::close(file_);
  state_ = kAbsent;
}

}  // namespace megascope
