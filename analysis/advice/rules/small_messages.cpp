#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

namespace megascope::advice {

/// Floods of small messages between two ranks that could be packed into fewer.
void find_small_messages(const Facts& facts, Findings& found) {
  constexpr std::uint64_t kMinCount = 1000;
  for (const RowGroup& group : groups_of(facts, Pattern::kSmallMessages)) {
    const double share = share_of(facts, static_cast<double>(group.sum.time_ns));
    if (group.sum.count < kMinCount || share < kMinShare) continue;
    found.push_back({.rule = "small_messages",
                     .text = human_count(group.sum.count) + " messages of " + human_bytes(group.mean_bytes()) +
                             " on average follow each other between the same two ranks; " + ranks_text(facts, group.ranks) + " " +
                             (group.ranks.size() == 1 ? "spends " : "spend ") + percent(share) + " of the run in them, " +
                             place_text(facts, group.sum.function, group.sum.comm, group.sum.site) + ".",
                     .remedy = "Pack what goes to the same rank into one message (a buffer, MPI_Pack or a derived datatype) and send it once a step: "
                               "each message costs its latency, however small it is.",
                     .ranks = group.ranks, .count = group.sum.count, .share = share, .function = group.sum.function, .comm = group.sum.comm,
                     .site = group.sum.site, .region = {}});
  }
}

}  // namespace megascope::advice
