#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>

namespace megascope::advice {

/// Finds a rank for whose messages most ranks wait.
void find_late_sender(const Facts& facts, Findings& found) {
  constexpr double kMaxOfWaits = 0.5;  // fraction of all waits for late senders
  constexpr double kMinWaits = 0.05;   // fraction of the run
  if (facts.ranks.size() < 2) return;
  const auto waited = [](const RankFacts& rank) {
    return rank.waited_for[static_cast<std::size_t>(Waiting::kLateSender)];
  };
  const auto most = std::ranges::max_element(
      facts.ranks, {}, [&](const RankFacts& rank) { return waited(rank).wait_ns; });
  std::uint64_t all_ns = 0;
  for (const RankFacts& rank : facts.ranks) all_ns += waited(rank).wait_ns;
  const WaitedFor sender = waited(*most);
  const double share = share_of(facts, static_cast<double>(sender.wait_ns));
  const bool is_one = static_cast<double>(sender.wait_ns) >=
                          kMaxOfWaits * static_cast<double>(all_ns) &&
                      2 * std::size_t{sender.waiter_count} >= facts.ranks.size() - 1;
  if (!is_one || share < kMinWaits) return;
  const std::string rank = "rank " + std::to_string(most->world_rank);
  found.push_back({.rule = "late_sender",
                   .text = std::to_string(sender.waiter_count) +
                           (sender.waiter_count == 1 ? " rank waits" : " ranks wait") +
                           " for messages of " + rank + " (late sender), " +
                           human_count(sender.count) + " times, " +
                           duration(static_cast<double>(sender.wait_ns)) +
                           " in all: " + percent(share) + " of the run.",
                   .remedy = "Let " + rank +
                             " send earlier (MPI_Isend as soon as the data are ready) and do less "
                             "work between two sends. If it is a master, let it send larger work "
                             "items, or the next item before the previous one is done, and let it "
                             "compute none itself.",
                   .ranks = {most->world_rank},
                   .count = sender.count,
                   .share = share,
                   .function = kNoIndex,
                   .comm = kNoIndex,
                   .site = kNoIndex,
                   .region = {}});
}

}  // namespace megascope::advice
