#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>

namespace megascope::advice {
namespace {

constexpr std::uint64_t kMinCount = 10;
constexpr double kMinRanks = 0.7;  ///< fraction of the communicator's ranks in one chain
constexpr std::size_t kMinChain = 3;

struct Link {
  const RankFacts* rank = nullptr;
  const Relay* relay = nullptr;
};
using Links = std::map<std::int32_t, Link>;  ///< by world rank

/// A chain of ranks, each of which waits before it passes a message on: in a receive from the
/// previous rank, or in a send to the next one.
struct Chain {
  std::vector<Link> links;  ///< in the order in which they continue
  double cost_ns = 0.0;
  std::uint64_t count = ~std::uint64_t{0};
};

double hop_ns(const Hops& hops) {
  return hops.count == 0 ? 0.0
                         : static_cast<double>(hops.time_ns) / static_cast<double>(hops.count);
}

/// Returns the chain that begins at a rank. A cycle is cut at its first rank.
Chain chain_from(const Links& links, std::int32_t first, bool is_receive) {
  Chain chain;
  std::int32_t at = first;
  for (auto found = links.find(at); found != links.end() && chain.links.size() < links.size();
       found = links.find(at)) {
    chain.links.push_back(found->second);
    const Relay& relay = *found->second.relay;
    const auto position = static_cast<double>(chain.links.size());
    const double each_ns = static_cast<double>(relay.time_ns) / static_cast<double>(relay.count);
    const double hop = hop_ns(is_receive ? found->second.rank->late_sends
                                         : found->second.rank->late_receives);
    chain.cost_ns += static_cast<double>(relay.count) * std::min(each_ns, position * hop);
    chain.count = std::min(chain.count, relay.count);
    at = is_receive ? relay.to : relay.from;
  }
  return chain;
}

/// Returns the ranks at which a chain begins: no rank of the chain precedes them. For a cycle, one
/// of its ranks.
std::vector<std::int32_t> beginnings(const Links& links, bool is_receive) {
  std::vector<std::int32_t> first;
  for (const auto& [rank, link] : links) {
    if (!links.contains(is_receive ? link.relay->from : link.relay->to)) first.push_back(rank);
  }
  if (first.empty() && !links.empty()) first.push_back(links.begin()->first);
  return first;
}

std::map<std::uint32_t, Links> links_of(const Facts& facts, bool is_receive) {
  std::map<std::uint32_t, Links> by_comm;
  for (const RankFacts& rank : facts.ranks) {
    for (const Relay& relay : is_receive ? rank.receive_then_send : rank.send_then_receive) {
      if (relay.count < kMinCount || relay.comm == kNoIndex) continue;
      Link& link = by_comm[relay.comm][rank.world_rank];
      if (link.relay == nullptr || relay.count > link.relay->count) link = {&rank, &relay};
    }
  }
  return by_comm;
}

/// If all ranks send first, one rank must receive before it sends; returns whether there is one.
/// Otherwise the chain is a pipeline, whose last rank only receives.
bool is_closed(const Facts& facts, std::uint32_t comm, const Chain& chain) {
  if (chain.links.empty()) return false;
  const std::int32_t breaker = chain.links.front().relay->to;
  const auto rank = std::ranges::lower_bound(facts.ranks, breaker, {}, &RankFacts::world_rank);
  return rank != facts.ranks.end() && rank->world_rank == breaker &&
         std::ranges::any_of(rank->receive_then_send, [&](const Relay& relay) {
           return relay.comm == comm && relay.count >= kMinCount;
         });
}

void find(const Facts& facts, bool is_receive, Findings& found) {
  for (const auto& [comm, links] : links_of(facts, is_receive)) {
    Chain longest;
    for (const std::int32_t first : beginnings(links, is_receive)) {
      Chain chain = chain_from(links, first, is_receive);
      if (chain.links.size() > longest.links.size()) longest = std::move(chain);
    }
    if (!is_receive && !is_closed(facts, comm, longest)) continue;
    const double share = share_of(facts, longest.cost_ns);
    const double min_links = std::max(
        static_cast<double>(kMinChain) - 1.0,
        kMinRanks * static_cast<double>(facts.comms[comm].size) - 1.0);
    if (static_cast<double>(longest.links.size()) < min_links ||
        facts.comms[comm].size < static_cast<std::int32_t>(kMinChain) || share < kMinShare)
      continue;
    std::vector<std::int32_t> ranks;
    for (const Link& link : longest.links) ranks.push_back(link.rank->world_rank);
    std::ranges::sort(ranks);
    const std::string order = is_receive ? "receive from one neighbour before they send to the next"
                                         : "send to one neighbour, which cannot receive until its "
                                           "own send has completed, before they receive";
    found.push_back(
        {.rule = "sequential_ring",
         .text = "The ranks exchange messages one after the other, " + human_count(longest.count) +
                 " times: " + ranks_text(facts, ranks) + " " + order + ", with blocking calls " +
                 call_site_text(facts, kNoIndex, comm, kNoIndex) + ". This costs " +
                 percent(share) + " of the run. The cost grows with the number of ranks.",
         .remedy = "Use MPI_Sendrecv, or MPI_Irecv and MPI_Isend with MPI_Waitall: "
                   "all pairs then exchange at the same time. If each rank needs the "
                   "sum over the preceding ranks, use MPI_Scan or MPI_Exscan.",
         .ranks = std::move(ranks),
         .count = longest.count,
         .share = share,
         .function = kNoIndex,
         .comm = comm,
         .site = kNoIndex,
         .region = {}});
  }
}

}  // namespace

/// Finds blocking sends and receives that make a chain of most ranks.
void find_sequential_ring(const Facts& facts, Findings& found) {
  find(facts, true, found);
  find(facts, false, found);
}

}  // namespace megascope::advice
