#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"

#include <atomic>

namespace megascope::hooks {
namespace {

constexpr std::uint64_t kBeingMade = ~std::uint64_t{0};
constexpr int kMaxTries = 64;  ///< bounds the cost for an application that stops few of its ranges

/// An open range, stored at its number modulo kMaxRanges. Numbers are not reused: the thread that
/// changes a number from open to free owns the entry, and what it read before that belongs to this
/// range.
struct OpenRange {
  std::atomic<std::uint64_t> number{0};  ///< 0: free
  std::atomic<std::uint64_t> start_ticks{0};
  std::atomic<RegionId> name{kNoRegion};
};
constinit OpenRange g_open[kMaxRanges];
constinit std::atomic<std::uint64_t> g_last_number{0};

/// Returns the number of a free entry; 0 if none was found.
std::uint64_t take_number() noexcept {
  for (int i = 0; i < kMaxTries; ++i) {
    const std::uint64_t number = g_last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint64_t free = 0;
    if (g_open[number % kMaxRanges].number.compare_exchange_strong(free, kBeingMade,
                                                                   std::memory_order_acquire))
      return number;
  }
  return 0;
}

}  // namespace

std::uint64_t start_range(RegionId name) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr || name < kFirstProgramRegion || name >= kFirstReservedRegion) return 0;
  const std::uint64_t number = take_number();
  if (number == 0) {
    refuse(LossCause::kRefused, "a range was not started: too many ranges are open");
    return 0;
  }
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  OpenRange& range = g_open[number % kMaxRanges];
  range.start_ticks.store(now, std::memory_order_relaxed);
  range.name.store(name, std::memory_order_relaxed);
  range.number.store(number, std::memory_order_release);
  EventBuffer& buffer = *thread->buffer;
  if (has_space(buffer, hook_words::kRangeStartWords, now)) {
    buffer.commit(
        hook_words::encode_range_start(buffer.cursor(), now, buffer.base_ticks(), name, number));
  }
  return number;
}

void stop_range(std::uint64_t number) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr || number == 0) return;
  OpenRange& range = g_open[number % kMaxRanges];
  std::uint64_t open = range.number.load(std::memory_order_acquire);
  const std::uint64_t start_ticks = range.start_ticks.load(std::memory_order_relaxed);
  const RegionId name = range.name.load(std::memory_order_relaxed);
  if (number == kBeingMade || open != number ||
      !range.number.compare_exchange_strong(open, 0, std::memory_order_release)) {
    return refuse(LossCause::kUnbalanced, "a range was stopped that is not open");
  }
  EventBuffer& buffer = *thread->buffer;
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  if (!has_space(buffer, hook_words::kRangeStopWords, now)) return;
  buffer.commit(hook_words::encode_range_stop(buffer.cursor(), now, buffer.base_ticks(), name,
                                              number, start_ticks));
}

}  // namespace megascope::hooks
