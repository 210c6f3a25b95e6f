#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

namespace megascope::advice {

/// Finds consecutive small broadcasts of one root.
void find_bcast_runs(const Facts& facts, Findings& found) {
  constexpr std::uint64_t kMinCount = 100;
  constexpr double kMinRootShare = 0.5;  // if the root works in between, they cannot be packed
  for (const RowGroup& group : groups_of(facts, Pattern::kBcastRun)) {
    const Row& sum = group.sum;
    const double share = share_of(facts, static_cast<double>(sum.time_ns));
    if (group.max_count < kMinCount || share < kMinShare) continue;
    if (static_cast<double>(sum.root_count) < kMinRootShare * static_cast<double>(group.max_count))
      continue;
    found.push_back(
        {.rule = "bcast_runs",
         .text = human_count(group.max_count) + " broadcasts of " +
                 human_bytes(group.mean_bytes()) +
                 " on average directly follow another broadcast of the same root, " +
                 call_site_text(facts, sum.function, sum.comm, sum.site) + "; " +
                 ranks_text(facts, group.ranks) + " spend " + percent(share) +
                 " of the run in them.",
         .remedy = "Pack the values into one buffer (a struct, MPI_Pack) and broadcast it once.",
         .ranks = group.ranks,
         .count = group.max_count,
         .share = share,
         .function = sum.function,
         .comm = sum.comm,
         .site = sum.site,
         .region = {}});
  }
}

}  // namespace megascope::advice
