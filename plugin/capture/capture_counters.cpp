#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "plugin/capture/capture.h"
#include "plugin/tensors/tensor_choice.h"

#include <algorithm>
#include <new>

/// Counter capture of class Capture.
namespace megascope::capture {

void Capture::follow_counters(std::size_t ranks) {
  {
    const std::lock_guard lock(mutex_);
    past_.share_with(ranks);
  }
  hooks::show_counters(this);
}

void Capture::set(CounterId counter, double value) noexcept {
  slots_.set(counter, hooks::current_step(), value);
}

void Capture::read_counters() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const CounterId end = slots_.end();
    for (CounterId counter = 0; counter < end; ++counter) {
      const std::optional<CounterSlots::Reading> reading = slots_.take(counter);
      if (reading) past_.set(counter, reading->step, reading->value);
    }
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for a counter value");
  }
}

void Capture::report_values_again(std::int64_t first_step) {
  const std::lock_guard lock(mutex_);
  past_.report_again(first_step);
}

/// Reads counter names without holding mutex_: the names' lock is held when wanted_kinds() takes
/// mutex_, so the opposite order could deadlock.
void Capture::learn_counters() {
  std::vector<CounterId> unknown;
  {
    const std::lock_guard lock(mutex_);
    if (wants_counters_) unknown = past_.unknown();
  }
  for (const CounterId counter : unknown) learn(counter, hooks::counter_name(counter));
}

void Capture::learn(CounterId counter, const std::string& name) {
  const bool is_wanted = std::ranges::any_of(
      state()->capture_requests, [&](const CaptureRequest& capture_request) {
        return capture_request.kind == CaptureRequestKind::kCounters &&
               tensors::matches(capture_request.pattern(), name);
      });
  const std::string unit = is_wanted ? hooks::counter_unit(counter) : std::string();
  const std::lock_guard lock(mutex_);
  if (is_wanted && !past_.is_named(counter)) {
    if (!writer_.add(CounterName{.id = counter, .name = name, .unit = unit}))
      return;  // retried with the next rank update
    past_.name(counter);
  }
  past_.want(counter, is_wanted);
}

}  // namespace megascope::capture
