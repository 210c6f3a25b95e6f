#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>

namespace megascope::advice {

namespace {

struct Received {
  std::uint64_t count = 0;
  double time_ns = 0.0;
  std::vector<std::int32_t> ranks;
};

Received received_on(const std::vector<RowGroup>& receives, std::uint32_t comm) {
  Received sum;
  for (const RowGroup& group : receives) {
    if (group.sum.comm != comm) continue;
    sum.count += group.sum.count;
    sum.time_ns += static_cast<double>(group.sum.time_ns);
    sum.ranks.insert(sum.ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return sum;
}

}  // namespace

/// Finds series of small messages between two ranks that could be packed into fewer. Cost: the
/// senders' and receivers' time in them.
void find_small_messages(const Facts& facts, Findings& found) {
  constexpr std::uint64_t kMinCount = 1000;
  const std::vector<RowGroup> receives = groups_of(facts, Pattern::kSmallReceives);
  for (const RowGroup& group : groups_of(facts, Pattern::kSmallSends)) {
    const Row& sum = group.sum;
    const Received received = received_on(receives, sum.comm);
    const double part = received.count == 0
                            ? 0.0
                            : std::min(1.0, static_cast<double>(sum.count) /
                                                static_cast<double>(received.count));
    const double share = share_of(facts,
                                  static_cast<double>(sum.time_ns) + part * received.time_ns);
    if (sum.count < kMinCount || share < kMinShare) continue;
    std::vector<std::int32_t> ranks = group.ranks;
    ranks.insert(ranks.end(), received.ranks.begin(), received.ranks.end());
    std::ranges::sort(ranks);
    const auto repeated = std::unique(ranks.begin(), ranks.end());
    ranks.erase(repeated, ranks.end());
    found.push_back(
        {.rule = "small_messages",
         .text = human_count(sum.count) + " messages of " + human_bytes(group.mean_bytes()) +
                 " on average go one after the other to the same rank; " +
                 ranks_text(facts, group.ranks) +
                 (group.ranks.size() == 1 ? " sends them " : " send them ") +
                 call_site_text(facts, sum.function, sum.comm, sum.site) +
                 "; sending and receiving them takes " + percent(share) + " of the run.",
         .remedy = "Pack the data for one rank into one message (a buffer, MPI_Pack or a derived "
                   "datatype) and send it once per step: each message costs its latency, even if "
                   "it is small.",
         .ranks = std::move(ranks),
         .count = sum.count,
         .share = share,
         .function = sum.function,
         .comm = sum.comm,
         .site = sum.site,
         .region = {}});
  }
}

}  // namespace megascope::advice
