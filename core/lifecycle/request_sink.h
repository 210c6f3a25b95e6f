#pragma once

#include <string_view>

namespace megascope {

/// Is notified when the application polls for or answers requests of the live view's clients. Any
/// thread. Lives until the process ends.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  /// The application polls for requests for the first time. Any thread. Must not throw.
  virtual void note_first_poll() noexcept = 0;
  /// The step that just ended consisted only of a poll that found no request. Any thread. Must not
  /// throw.
  virtual void note_idle_step() noexcept {}
  /// The application answers a request. text: JSON. Any thread. Must not throw.
  virtual void reply(std::string_view text) noexcept = 0;
};

}  // namespace megascope
