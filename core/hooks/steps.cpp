#include "core/hooks/cpu_readings.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "core/hooks/requests.h"
#include "core/record/user_regions.h"

#include <algorithm>
#include <atomic>

namespace megascope::hooks {
namespace {

std::atomic<RegionId> g_region{
    kNoRegion};  ///< identifier of the step region; kNoRegion before the first step
std::atomic<std::int64_t> g_step{-1};
StepWindow g_window;  ///< set before recording starts
std::atomic<StepFollower> g_follower{nullptr};
std::atomic<std::int64_t> g_also_first{0};
std::atomic<std::int64_t> g_also_count{0};

bool is_wanted(std::int64_t step) noexcept {
  const std::int64_t behind = step - g_also_first.load(std::memory_order_relaxed);
  return g_window.has(step) ||
         (behind >= 0 && behind < g_also_count.load(std::memory_order_relaxed));
}

RegionId step_region() noexcept {
  RegionId known = g_region.load(std::memory_order_relaxed);
  if (known == kNoRegion) {
    known = region(kStepRegionName);
    g_region.store(known, std::memory_order_relaxed);
  }
  return known;
}

bool is_in_step(const HookThread& thread) noexcept {
  const RegionId step = g_region.load(std::memory_order_relaxed);
  return std::find(thread.open, thread.open + thread.depth, step) != thread.open + thread.depth;
}

}  // namespace

bool is_step(RegionId region) noexcept {
  return region != kNoRegion && region == g_region.load(std::memory_order_relaxed);
}

std::int64_t current_step() noexcept { return g_step.load(std::memory_order_relaxed); }

void set_window(const StepWindow& window) noexcept { g_window = window; }

void set_step_follower(StepFollower follower) noexcept {
  g_follower.store(follower, std::memory_order_release);
}

void also_keep(std::int64_t first, std::int64_t count) noexcept {
  g_also_first.store(first, std::memory_order_relaxed);
  g_also_count.store(count, std::memory_order_relaxed);
}

void begin_step(std::int64_t step) noexcept {
  HookThread* thread = thread_for(kSteps);
  if (thread == nullptr) return;
  if (step < 0) return refuse(LossCause::kRefused, "a step was ignored: its number is negative");
  if (is_in_step(*thread)) {
    leave(step_region());
    read_cpu_at_boundary();
  }
  if (step <= thread->step)
    refuse(LossCause::kUnbalanced,
           "a step began whose number is not larger than the previous one; step numbers must "
           "increase");
  thread->step = step;
  g_step.store(step, std::memory_order_relaxed);
  if (const StepFollower follower = g_follower.load(std::memory_order_acquire)) follower(step);
  keep(is_wanted(step));
  read_cpu_at_boundary();
  const Number number{ValueName::kStep, step};
  enter(step_region(), {&number, 1});
  note_step_begin();
}

void end_step() noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr) return;
  if (!is_in_step(*thread))
    return refuse(LossCause::kUnbalanced, "a step ended on a thread that has no open step");
  note_step_end();
  leave(step_region());
  read_cpu_at_boundary();
}

}  // namespace megascope::hooks
