#pragma once

#include <cstdint>
#include <sys/types.h>

namespace megascope {

/// Scheduling times of one thread since it started, as the kernel accounts them.
struct ThreadCpu {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  std::uint64_t cpu_ns = kUnknown;    ///< on a processor, in user and kernel mode
  std::uint64_t wait_ns = kUnknown;   ///< runnable without a processor: on the run queue, or
                                      ///< throttled by a control group's quota
  std::uint64_t switches = kUnknown;  ///< involuntary context switches: the kernel gave the
                                      ///< processor to another thread
};

/// Reads the calling thread's ThreadCpu. Keeps a descriptor of /proc/thread-self/schedstat open.
/// Zero-initialised memory is a valid reader that has not been opened; in fork_wiped_memory() a
/// forked child therefore opens its own file.
class ThreadCpuReader {
 public:
  /// Returns the times of the calling thread, which must be the thread of the first call. Values
  /// that the kernel does not report are kUnknown: wait_ns if the file is absent, masked or not
  /// accounted.
  /// Cost: three system calls and an fstat, 1 to 3 us; the first call opens the file. Does not
  /// block, allocate or change errno, and is no cancellation point. Not signal-safe.
  ThreadCpu read() noexcept;
  /// Closes the descriptor. Does not close it if the application has closed it and its number now
  /// refers to another file.
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
