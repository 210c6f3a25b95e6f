#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>

namespace megascope::advice {
namespace {

constexpr std::uint64_t kMinCount = 100;
constexpr double kMinLoneShare = 0.02;  ///< fraction of the run if the calls are not consecutive:
                                        ///< these are harder to avoid

std::uint64_t followers_of(const std::vector<RowGroup>& followers, const Row& row) {
  for (const RowGroup& group : followers) {
    if (group.sum.function == row.function && group.sum.comm == row.comm &&
        group.sum.site == row.site)
      return group.max_count;
  }
  return 0;
}

}  // namespace

/// Finds collectives with a tiny payload, whose time is latency.
void find_tiny_collectives(const Facts& facts, Findings& found) {
  const std::vector<RowGroup> followers = groups_of(facts, Pattern::kTinyFollower);
  std::vector<RowGroup> groups = groups_of(facts, Pattern::kTinyCollective);
  for (const RowGroup& group : groups) {
    const Row& sum = group.sum;
    const auto wire = facts.tiny_wires.find({sum.comm, sum.function});
    if (group.max_count < kMinCount || wire == facts.tiny_wires.end() || wire->second.count == 0)
      continue;
    // if there are several call sites, each has its part of the cost
    const double part = std::min(
        1.0, static_cast<double>(group.max_count) / static_cast<double>(wire->second.count));
    const double share = share_of(facts, part * static_cast<double>(wire->second.member_ns));
    const std::uint64_t following = followers_of(followers, sum);
    const bool can_be_combined = 4 * following >= group.max_count;
    if (share < (can_be_combined ? kMinShare : kMinLoneShare)) continue;
    std::string text = human_count(group.max_count) + " collectives of " +
                       human_bytes(group.mean_bytes()) + " take " + percent(share) +
                       " of the run, not counting waits for late ranks, " +
                       call_site_text(facts, sum.function, sum.comm, sum.site);
    if (can_be_combined)
      text += "; " + human_count(following) + " of them directly follow another one";
    found.push_back({.rule = "tiny_collectives",
                     .text = text + ".",
                     .remedy = can_be_combined
                                   ? "Put values that are reduced at the same point into one array "
                                     "and reduce it in one call."
                                   : "Make fewer of them (test for convergence every few steps, "
                                     "combine the sums of a step in one array), or overlap them "
                                     "with work: use the nonblocking variant.",
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
