#pragma once

#include "plugin/capture/rank_update.h"
#include "plugin/steps/step_block.h"

#include <cstdint>

namespace megascope::steps {

/// Tracks, on rank 0, which contents of rank updates were dropped because the server's queue was
/// full, until rank 0 requests them again. Only on the thread that begins steps.
class LostRankUpdates {
 public:
  /// Adds the contents of a dropped rank update of one rank.
  void add(std::uint32_t world_rank, const capture::RankUpdateContents& lost) noexcept;
  /// Sets `word`, the control word of the next block, so that the ranks whose rank updates were
  /// dropped send the contents again. Does so at most once in 2 s, because resending adds to the
  /// load that caused the drops.
  void ask_again(ControlWord& word) noexcept;

 private:
  /// Lowest world rank whose contents must be sent again.
  std::uint32_t first_rank_ = ~std::uint32_t{0};
  /// Highest world rank whose contents must be sent again. If it is lower than first_rank_, there
  /// are no such contents.
  std::uint32_t last_rank_ = 0;
  bool has_names_ = false;                ///< as ControlWord::has_lost_names
  std::int64_t counters_from_ = kNoStep;  ///< as ControlWord::counters_from
  std::uint64_t asked_ns_ = 0;            ///< CLOCK_MONOTONIC
};

}  // namespace megascope::steps
