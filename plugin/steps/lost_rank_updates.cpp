#include "plugin/steps/lost_rank_updates.h"

#include "core/base/clock.h"

#include <algorithm>
#include <utility>

namespace megascope::steps {

void LostRankUpdates::add(std::uint32_t world_rank,
                          const capture::RankUpdateContents& lost) noexcept {
  if (!lost.has_names && lost.counters_from == capture::RankUpdateContents().counters_from) return;
  first_rank_ = std::min(first_rank_, world_rank);
  last_rank_ = std::max(last_rank_, world_rank);
  has_names_ |= lost.has_names;
  counters_from_ = std::min(counters_from_, lost.counters_from);
}

void LostRankUpdates::ask_again(ControlWord& word) noexcept {
  constexpr std::uint64_t kPeriodNs = 2'000'000'000;
  const std::uint64_t now_ns = clock::monotonic_ns();
  if (first_rank_ > last_rank_ || now_ns - asked_ns_ < kPeriodNs) return;
  asked_ns_ = now_ns;
  ++word.lost_number;
  word.counters_from = std::exchange(counters_from_, kNoStep);
  word.has_lost_names = std::exchange(has_names_, false) ? 1 : 0;
  word.first_rank = std::exchange(first_rank_, ~std::uint32_t{0});
  word.last_rank = std::exchange(last_rank_, 0);
}

}  // namespace megascope::steps
