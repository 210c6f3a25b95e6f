#pragma once

#include <otf2/otf2.h>

#include <type_traits>

namespace megascope::otf2 {

/// Makes calls to libotf2 until one fails, and none after that: libotf2 3.0.2 crashes when a writer
/// is used after a failed write. One thread.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// Calls `function`. No effect after an error.
  template <class... Parameters>
  void make(OTF2_ErrorCode (*function)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
    if (error_ == OTF2_SUCCESS) error_ = function(arguments...);
  }
  /// Records an error that was not returned by libotf2. The first error is kept.
  void fail(OTF2_ErrorCode code) {
    if (error_ == OTF2_SUCCESS) error_ = code;
  }
  bool have_failed() const { return error_ != OTF2_SUCCESS; }
  /// Returns OTF2_SUCCESS, or the first error.
  OTF2_ErrorCode error() const { return error_; }

 private:
  OTF2_ErrorCode error_ = OTF2_SUCCESS;
};

}  // namespace megascope::otf2
