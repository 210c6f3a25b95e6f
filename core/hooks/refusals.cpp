#include "core/hooks/refusals.h"

#include "core/buffer/recorder.h"
#include "core/hooks/hook_thread.h"

#include <atomic>
#include <cstring>

namespace megascope::hooks {
namespace {

constexpr std::size_t kReasonBytes = 256;
thread_local char t_reason[kReasonBytes];
std::atomic<Recorder*> g_counts{nullptr};
std::atomic<std::uint64_t> g_early[kLossCauseCount];

}  // namespace

void refuse(LossCause cause, const char* reason) noexcept {
  std::strncpy(t_reason, reason, kReasonBytes - 1);
  if (is_forked_child()) return;  // the recorder's memory is not mapped
  if (Recorder* recorder = g_counts.load(std::memory_order_acquire))
    recorder->count_loss(cause);
  else
    g_early[static_cast<std::size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
}

const char* last_refusal() noexcept { return t_reason; }

void count_refusals_in(Recorder* recorder) noexcept {
  g_counts.store(recorder, std::memory_order_release);
  if (recorder == nullptr) return;
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    const std::uint64_t count = g_early[i].exchange(0, std::memory_order_relaxed);
    if (count != 0) recorder->count_loss(static_cast<LossCause>(i), count);
  }
}

}  // namespace megascope::hooks
