#pragma once

#include <cstdint>
#include <sys/types.h>

namespace megascope {

/// What the kernel has charged to a thread since it started.
struct ThreadCpu {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  std::uint64_t cpu_ns = kUnknown;    ///< on a processor, in user and kernel mode
  std::uint64_t wait_ns = kUnknown;   ///< runnable and without a processor (on the run queue, or
                                      ///< throttled by a control group's quota)
  std::uint64_t switches = kUnknown;  ///< involuntary context switches: the kernel gave the
                                      ///< processor to another thread
};

/// Reads the calling thread's ThreadCpu. Keeps one descriptor of /proc/thread-self/schedstat. All
/// members zero: not opened yet. May lie in memory that a forked child sees zeroed
/// (fork_wiped_memory): there the file is opened again.
class ThreadCpuReader {
 public:
  /// By the thread that called first. Three system calls and an fstat, 1 to 3 us; the first call
  /// opens the file. Never blocks, never allocates, is no cancellation point, leaves errno as it
  /// is. Not from a signal handler. What the kernel does not report is kUnknown: wait_ns where the
  /// file is absent, masked, or the kernel does not account for it.
  ThreadCpu read() noexcept;
  /// Closes the descriptor, unless the application has closed it and the number names another file
  /// now.
  void close() noexcept;

 private:
  enum State : std::int32_t { kNotOpened, kOpen, kAbsent };

  void open() noexcept;
  bool is_ours() const noexcept;
  std::uint64_t read_wait() noexcept;

  std::int32_t state_;
  std::int32_t file_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace megascope
