#pragma once

#include <string_view>

namespace megascope {

/// Receives what an application does with requests of clients of the live view. Never destroyed.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  /// The application polls for requests for the first time. Any thread. Must not throw.
  virtual void polls() noexcept = 0;
  /// The step that just ended consisted only of a poll that found no request. As polls().
  virtual void ended_idle_step() noexcept {}
  /// The application's answer, as JSON text. As polls().
  virtual void reply(std::string_view text) noexcept = 0;
};

}  // namespace megascope
