#include "core/base/text.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/parallel_layout.h"
#include "core/hooks/refusals.h"

#include <atomic>
#include <new>
#include <string>

namespace megascope::hooks {
namespace {

std::atomic<std::uint32_t> g_version{0};

/// Returns the recorder; nullptr if nothing is recorded (counted as refused).
Recorder* recorder_of_places() noexcept {
  (void)thread_for(kSteps);  // this may be the hook that starts the recording
  Recorder* active = recorder();
  if (active == nullptr)
    refuse(LossCause::kRefused,
           "a coordinate in a parallel group was set while nothing is recorded");
  return active;
}

}  // namespace

std::uint32_t places_version() noexcept { return g_version.load(std::memory_order_acquire); }

bool set_place(std::string_view name, std::int32_t index, std::int32_t size) noexcept {
  Recorder* const active = recorder_of_places();
  if (active == nullptr) return false;
  if (!is_dimension_name(name) || index < 0 || index >= size) {
    refuse(
        LossCause::kRefused,
        "a coordinate in a parallel group was ignored: index must be 0 to size - 1, and the name "
        "1 to 64 letters, digits, '-' or '_'");
    return false;
  }
  try {
    active->set_place({std::string(name), index, size});
    g_version.fetch_add(1, std::memory_order_release);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool set_places(std::string_view layout) noexcept {
  Recorder* const active = recorder_of_places();
  if (active == nullptr) return false;
  try {
    std::string problem;
    const ProcessInfo info = active->info();
    const std::vector<ParallelIndex> places = places_in(split_list(layout), info.world_rank,
                                                        info.world_size, problem);
    for (const ParallelIndex& place : places) active->set_place(place);
    g_version.fetch_add(1, std::memory_order_release);
    if (!problem.empty()) refuse(LossCause::kRefused, problem.c_str());
    return problem.empty();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace megascope::hooks
