#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>

namespace megascope::advice {
namespace {

constexpr std::uint64_t kMinRounds = 10;

/// Sums over the members of one communicator.
struct Members {
  std::vector<std::int32_t> ranks;
  std::uint64_t min_rounds = ~std::uint64_t{0};
  std::uint64_t message_count = 0;
  double time_ns = 0.0;  ///< time in calls with messages, in proportion to the messages of
                         ///< completed rounds
};

double time_in_messages(const RankFacts& rank, std::uint32_t comm) {
  double time_ns = 0.0;
  for (const Row& row : rank.rows) {
    if (row.pattern == Pattern::kMessageCalls && row.comm == comm)
      time_ns += static_cast<double>(row.time_ns);
  }
  return time_ns;
}

}  // namespace

/// Finds communicators whose members repeatedly send messages to all others.
void find_all_to_all(const Facts& facts, Findings& found) {
  std::map<std::uint32_t, Members> by_comm;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [comm, rounds] : rank.all_to_all) {
      Members& members = by_comm[comm];
      members.ranks.push_back(rank.world_rank);
      members.min_rounds = std::min(members.min_rounds, rounds.count);
      members.message_count += rounds.message_count;
      const double part = static_cast<double>(rounds.message_count) /
                          static_cast<double>(std::max<std::uint64_t>(rounds.sent_count, 1));
      members.time_ns += part * time_in_messages(rank, comm);
    }
  }
  for (const auto& [comm, members] : by_comm) {
    const double share = share_of(facts, members.time_ns);
    const bool has_all = static_cast<std::int32_t>(members.ranks.size()) == facts.comms[comm].size;
    if (!has_all || members.min_rounds < kMinRounds || share < kMinShare) continue;
    found.push_back(
        {.rule = "all_to_all",
         .text = "Every rank sent single messages to all others " +
                 human_count(members.min_rounds) + " times, " +
                 call_site_text(facts, kNoIndex, comm, kNoIndex) + "; " +
                 ranks_text(facts, members.ranks) + " spend " + percent(share) +
                 " of the run in these " + human_count(members.message_count) + " messages.",
         .remedy = "Use MPI_Alltoall(v), or MPI_Neighbor_alltoall(v) where the pattern is sparser "
                   "on larger runs. The library then schedules the messages so that no rank "
                   "receives from all others at once.",
         .ranks = members.ranks,
         .count = members.min_rounds,
         .share = share,
         .function = kNoIndex,
         .comm = comm,
         .site = kNoIndex,
         .region = {}});
  }
}

}  // namespace megascope::advice
