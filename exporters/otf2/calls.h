#pragma once

#include <otf2/otf2.h>

#include <type_traits>

namespace megascope::otf2 {

/// Calls libotf2 until a call fails, and never after that: libotf2 3.0.2 crashes where a writer is
/// used after a write to its file has failed. One thread.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// Does nothing after an error.
  template <class... Parameters>
  void make(OTF2_ErrorCode (*function)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
    if (error_ == OTF2_SUCCESS) error_ = function(arguments...);
  }
  /// An error that no call of libotf2 has returned; the first one stays.
  void fail(OTF2_ErrorCode code) {
    if (error_ == OTF2_SUCCESS) error_ = code;
  }
  bool have_failed() const { return error_ != OTF2_SUCCESS; }
  /// OTF2_SUCCESS, or what the call that failed returned.
  OTF2_ErrorCode error() const { return error_; }

 private:
  OTF2_ErrorCode error_ = OTF2_SUCCESS;
};

}  // namespace megascope::otf2
