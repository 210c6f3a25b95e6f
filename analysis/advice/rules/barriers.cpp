#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>

namespace megascope::advice {
namespace {

/// Returns whether most of the waiting at barriers is for one rank. Its lateness is then the cause:
/// without the barrier, the others would wait in the next call.
double waits_for_one(const Facts& facts) {
  constexpr double kMostly = 0.6;
  std::uint64_t all_ns = 0;
  std::uint64_t max_ns = 0;
  for (const RankFacts& rank : facts.ranks) {
    const std::uint64_t wait_ns = rank.waited_for[static_cast<std::size_t>(Waiting::kBarrier)]
                                      .wait_ns;
    all_ns += wait_ns;
    max_ns = std::max(max_ns, wait_ns);
  }
  const bool is_one = facts.ranks.size() > 2 &&
                      static_cast<double>(max_ns) >= kMostly * static_cast<double>(all_ns);
  return is_one ? static_cast<double>(all_ns) : 0.0;
}

}  // namespace

/// Finds barriers between messages and collectives, which synchronise anyway.
void find_barriers(const Facts& facts, Findings& found) {
  constexpr std::uint64_t kMinCount = 10;
  const double others_ns = waits_for_one(facts);
  double all_ns = 0;
  const std::vector<RowGroup> groups = groups_of(facts, Pattern::kBarrier);
  for (const RowGroup& group : groups) all_ns += static_cast<double>(group.sum.time_ns);
  for (const RowGroup& group : groups) {
    const Row& sum = group.sum;
    const auto time_ns = static_cast<double>(sum.time_ns);
    const double share = share_of(
        facts, std::max(0.0, time_ns - others_ns * time_ns / std::max(all_ns, 1.0)));
    if (group.max_count < kMinCount || share < kMinShare) continue;
    found.push_back(
        {.rule = "barriers",
         .text = human_count(group.max_count) +
                 " barriers separate messages and collectives, which need no barrier between "
                 "them, " +
                 call_site_text(facts, sum.function, sum.comm, sum.site) + "; " +
                 ranks_text(facts, group.ranks) + " spend " + percent(share) +
                 " of the run in them.",
         .remedy = "Remove them, unless they separate operations that MPI does not order: file "
                   "access, timing, shared memory, receives from any source. Waits that uneven "
                   "work causes do not disappear: they move to the next call.",
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
