#pragma once

#include "plugin/capture/rank_update.h"
#include "plugin/steps/step_block.h"

#include <cstdint>

namespace megascope::steps {

/// On rank 0: which contents of rank updates the server's full queue has dropped, until rank 0 asks
/// for them again. Only on the thread that begins steps.
class LostRankUpdates {
 public:
  void add(std::uint32_t world_rank, const capture::RankUpdateContents& lost) noexcept;
  /// Asks the ranks whose rank updates were dropped to send their contents again, by the control
  /// word of the next block. At most once in 2 s, because resending adds to the load that caused
  /// the drops.
  void ask_again(ControlWord& word) noexcept;

 private:
  /// World ranks whose rank updates contained items to resend: none …
  std::uint32_t first_rank_ = ~std::uint32_t{0};
  std::uint32_t last_rank_ = 0;           ///< … if this is lower than first_rank_
  bool has_names_ = false;                ///< as ControlWord::has_lost_names
  std::int64_t counters_from_ = kNoStep;  ///< as ControlWord::counters_from
  std::uint64_t asked_ns_ = 0;            ///< CLOCK_MONOTONIC
};

}  // namespace megascope::steps
