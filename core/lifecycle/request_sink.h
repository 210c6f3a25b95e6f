#pragma once

#include <string_view>

namespace megascope {

/// Hears of a program that does what clients of the live view ask for. Never destroyed.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  /// The program asks for requests, for the first time. Any thread; nothing thrown.
  virtual void polls() noexcept = 0;
  /// The step that just ended was a poll for requests that found none, and nothing else. As
  /// polls().
  virtual void ended_idle_step() noexcept {}
  /// It answers, in JSON. As polls().
  virtual void reply(std::string_view text) noexcept = 0;
};

}  // namespace megascope
