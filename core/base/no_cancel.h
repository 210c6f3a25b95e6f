#pragma once

#include <pthread.h>

namespace megascope {

/// While it lives, the thread is not cancelled: of what we do in a program's thread nothing may be
/// left half done, and it cannot be unwound.
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
