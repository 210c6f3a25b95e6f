#include "examples/add_a_rule/mostly_mpi.h"

#include "analysis/advice/words.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::advice {

/// Finds runs whose ranks do little else than communicate.
void find_mostly_mpi(const Facts& facts, Findings& found) {
  constexpr double kMinFraction = 0.9;  ///< of a rank's time
  std::uint64_t mpi_ns = 0;
  std::vector<std::int32_t> ranks;
  for (const RankFacts& rank : facts.ranks) {
    if (static_cast<double>(rank.mpi_ns) < kMinFraction * static_cast<double>(rank.wall_ns))
      continue;
    mpi_ns += rank.mpi_ns;
    ranks.push_back(rank.world_rank);
  }
  const double share = share_of(facts, static_cast<double>(mpi_ns));
  if (share < kMinShare || 2 * ranks.size() < facts.ranks.size()) return;
  found.push_back({.rule = "mostly_mpi",
                   .text = ranks_text(facts, ranks) + " spend more than " + percent(kMinFraction) +
                           " of their time in MPI, " + percent(share) + " of the run.",
                   .remedy = "Use fewer ranks, or give each more work.",
                   .ranks = ranks,
                   .count = ranks.size(),
                   .share = share,
                   .region = {}});
}

}  // namespace megascope::advice
