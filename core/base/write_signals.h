#pragma once

#include <cerrno>
#include <signal.h>
#include <time.h>

namespace megascope {

/// Blocks SIGPIPE and SIGXFSZ of the calling thread for a scope, so that writes of the library
/// cannot end the application. The write's own error (EPIPE, EFBIG) remains. Signals that this
/// thread caused are discarded; signals that were pending before stay pending. Threads started in
/// the scope inherit the mask.
class WriteSignalsBlocked {
 public:
  WriteSignalsBlocked() noexcept {
    sigemptyset(&ours_);
    sigaddset(&ours_, SIGPIPE);
    sigaddset(&ours_, SIGXFSZ);
    sigpending(&pending_before_);
    pthread_sigmask(SIG_BLOCK, &ours_, &mask_before_);
  }
  ~WriteSignalsBlocked() {
    const int error_number = errno;
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending_before_, signal) == 0) take(signal);
    }
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    errno = error_number;
  }
  WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
  WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

 private:
  static void take(int signal) noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    const timespec now{};
    while (sigtimedwait(&one, nullptr, &now) < 0 && errno == EINTR) continue;
  }

  sigset_t ours_;
  sigset_t pending_before_;
  sigset_t mask_before_;
};

}  // namespace megascope
