#pragma once

#include <pthread.h>

namespace megascope {

/// Disables cancellation of the calling thread for a scope (pthread_setcancelstate). The library's
/// code that runs on application threads must not be interrupted half-way and cannot be unwound.
class NoCancel {
 public:
  NoCancel() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
  ~NoCancel() { pthread_setcancelstate(state_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int state_ = 0;
};

}  // namespace megascope
