#include "plugin/steps/capture_suspension.h"

#include "core/base/clock.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace megascope::steps {

void CaptureSuspension::apply(std::span<const std::byte> capture_requests) {
  const bool is_same = capture_requests.size() == in_effect_.size() &&
                       (capture_requests.empty() ||
                        std::memcmp(capture_requests.data(), in_effect_.data(),
                                    capture_requests.size()) == 0);
  if (has_stopped_ || is_same) return;
  in_effect_.clear();  // if memory runs out below, the next block applies the requests again
  capture_.set_capture_requests(capture::unpack_capture_requests(capture_requests));
  in_effect_.assign(capture_requests.begin(), capture_requests.end());
}

void CaptureSuspension::resume(std::uint64_t now_ns, std::uint64_t step_ns) noexcept {
  if (has_stopped_) return;
  active_until_ns_ = now_ns + suspend_after_ns_ +
                     4 * std::max(step_ns, std::exchange(former_step_ns_, step_ns));
  capture_.show_until(active_until_ns_);
  if (!is_suspended_) return;
  try {
    capture_.set_capture_requests(capture::unpack_capture_requests(in_effect_));
    is_suspended_ = false;
  } catch (const std::bad_alloc&) {
  }
}

bool CaptureSuspension::suspend_if_due() noexcept {
  if (is_suspended_ || has_stopped_ || clock::monotonic_ns() <= active_until_ns_) return false;
  try {
    if (capture::unpack_capture_requests(in_effect_).empty()) return false;
    capture_.set_capture_requests({});
    is_suspended_ = true;
  } catch (const std::bad_alloc&) {
  }
  return is_suspended_;
}

void CaptureSuspension::stop() noexcept {
  has_stopped_ = true;
  try {
    capture_.set_capture_requests({});
  } catch (const std::bad_alloc&) {
    // Capture ends when active_until_ns_ has passed.
  }
}

}  // namespace megascope::steps
