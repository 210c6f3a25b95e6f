#pragma once

#include "plugin/capture/capture.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope::steps {

/// Puts clients' capture requests into effect on this rank, and suspends them when no step has
/// begun for some time. The reason: without step blocks, rank 0 cannot inform this rank that no
/// client needs the captured items any more. README.md describes the states. Only on the thread
/// that begins steps.
class CaptureSuspension {
 public:
  /// capture: must outlive this object.
  explicit CaptureSuspension(capture::Capture& capture) : capture_(capture) {}

  /// Sets the time without a new step after which capture is suspended: `ns` plus four times the
  /// longer of the last two step durations.
  void suspend_after(std::uint64_t ns) noexcept { suspend_after_ns_ = ns; }
  /// Puts capture requests into effect if they differ from those in effect. capture_requests: made
  /// by pack_capture_requests(). Throws std::bad_alloc; the next call with the same requests then
  /// puts them into effect.
  void apply(std::span<const std::byte> capture_requests);
  /// A step has begun: resumes capture. now_ns: CLOCK_MONOTONIC; step_ns: duration of the previous
  /// step.
  void resume(std::uint64_t now_ns, std::uint64_t step_ns) noexcept;
  /// Suspends capture if the last step began too long ago and there are capture requests. Returns
  /// whether this call suspended it.
  bool suspend_if_due() noexcept;
  /// Ends capture for good.
  void stop() noexcept;

 private:
  capture::Capture& capture_;
  std::vector<std::byte> in_effect_;  ///< the capture requests; kept while capture is suspended
  std::uint64_t suspend_after_ns_ = 10'000'000'000;
  std::uint64_t active_until_ns_ = ~std::uint64_t{0};
  std::uint64_t former_step_ns_ = 0;  ///< duration of the step before the previous one
  bool is_suspended_ = false;
  bool has_stopped_ = false;
};

}  // namespace megascope::steps
