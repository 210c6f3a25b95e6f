#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>

namespace megascope::advice {
namespace {

constexpr std::uint64_t kMinRounds = 10;

struct Rounds {
  std::uint64_t min_count = ~std::uint64_t{0};
  std::vector<std::int32_t> ranks;
  std::uint64_t time_ns = 0;
  std::uint64_t messages = 0;
};

std::uint64_t messages_of(const RankFacts& rank, std::uint32_t comm, std::uint64_t& time_ns) {
  std::uint64_t count = 0;
  for (const Row& row : rank.rows) {
    if (row.pattern != Pattern::kMessageCalls || row.comm != comm) continue;
    count += row.count;
    time_ns += row.time_ns;
  }
  return count;
}

}  // namespace

/// All members of a communicator send to all others, again and again, by messages.
void find_all_to_all(const Facts& facts, Findings& found) {
  std::map<std::uint32_t, Rounds> by_comm;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [comm, count] : rank.all_to_all_rounds) {
      Rounds& rounds = by_comm[comm];
      rounds.min_count = std::min(rounds.min_count, count);
      rounds.ranks.push_back(rank.world_rank);
      rounds.messages += messages_of(rank, comm, rounds.time_ns);
    }
  }
  for (const auto& [comm, rounds] : by_comm) {
    const double share = share_of(facts, static_cast<double>(rounds.time_ns));
    const bool has_all = static_cast<std::int32_t>(rounds.ranks.size()) == facts.comms[comm].size;
    if (!has_all || rounds.min_count < kMinRounds || share < kMinShare) continue;
    found.push_back({.rule = "all_to_all",
                     .text = "Every rank sent to all others " + human_count(rounds.min_count) + " times by single messages, " +
                             place_text(facts, kNoIndex, comm, kNoIndex) + "; " + ranks_text(facts, rounds.ranks) + " spend " + percent(share) +
                             " of the run in " + human_count(rounds.messages) + " calls with messages.",
                     .remedy = "Use MPI_Alltoall(v), or MPI_Neighbor_alltoall(v) where the pattern is sparser on larger runs: the library then orders the "
                               "messages so that they do not meet at one rank.",
                     .ranks = rounds.ranks, .count = rounds.min_count, .share = share, .function = kNoIndex, .comm = comm, .site = kNoIndex,
                     .region = {}});
  }
}

}  // namespace megascope::advice
