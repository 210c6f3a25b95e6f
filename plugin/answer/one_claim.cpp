#include "plugin/answer/one_claim.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace megascope::answer {
namespace {

using detect::Cause;
using detect::RootCause;

bool contains(const RootCause& whole, const RootCause& part) {
  return std::ranges::includes(whole.ranks, part.ranks);
}

bool overlap(const RootCause& one, const RootCause& other) {
  return one.onset_step <= other.last_step && other.onset_step <= one.last_step;
}

bool claim_the_same(const RootCause& one, const RootCause& other) {
  return !analysis::is_of_messages(one.cause) && !analysis::is_of_messages(other.cause) &&
         analysis::is_pause(one.cause) == analysis::is_pause(other.cause) && overlap(one, other) &&
         (contains(one, other) || contains(other, one));
}

/// Returns whether `part` was compared only with other ranks of `whole`: a rank with the other
/// ranks of its stage or host; or ranks that are slower than replicas which all vary.
bool is_compared_within(const RootCause& part, const RootCause& whole) {
  if (analysis::is_pause(part.cause) || part.ranks.size() >= whole.ranks.size() ||
      !contains(whole, part))
    return false;
  if (part.within.is_there() && std::ranges::includes(whole.ranks, part.within.ranks)) return true;
  const bool is_stage = whole.cause == Cause::kStageImbalance;
  const bool are_all_replicas = whole.cause == Cause::kInputImbalance &&
                                !whole.groups.contains("dp");
  if (is_stage && part.cause == Cause::kSlowCompute)
    return part.evidence.peer_count + 1 == static_cast<std::int32_t>(whole.ranks.size());
  return are_all_replicas || (is_stage && part.cause == Cause::kSlowHost);
}

/// Does nothing if the part is already compared within a smaller set.
void set_within(RootCause& part, const RootCause& whole) {
  if (part.within.is_there() && part.within.ranks != whole.ranks) return;
  part.within = {whole.cause, whole.ranks, -1};
  part.has_specified_groups = whole.has_specified_groups;
  const auto stage = whole.groups.find("pp");
  if (whole.cause == Cause::kStageImbalance && whole.has_specified_groups &&
      stage != whole.groups.end())
    part.within.stage = stage->second;
}

}  // namespace

void make_one_claim_each(std::vector<RootCause>& root_causes) {
  std::ranges::stable_sort(root_causes, std::greater<>(), &RootCause::cost_fraction);
  std::vector<RootCause> kept;
  for (RootCause& root_cause : root_causes) {
    bool is_claimed = false;
    for (RootCause& other : kept) {
      if (!claim_the_same(root_cause, other)) continue;
      if (is_compared_within(root_cause, other)) {
        set_within(root_cause, other);
      } else if (is_compared_within(other, root_cause)) {
        set_within(other, root_cause);
      } else {
        if (root_cause.ranks == other.ranks) detect::add_steps(root_cause, other);
        is_claimed = true;
        break;
      }
    }
    if (!is_claimed) kept.push_back(std::move(root_cause));
  }
  root_causes = std::move(kept);
}

void drop_absent_wholes(std::vector<RootCause>& root_causes) {
  for (RootCause& root_cause : root_causes) {
    const bool is_there = std::ranges::any_of(root_causes, [&root_cause](const RootCause& other) {
      return other.cause == root_cause.within.cause && other.ranks == root_cause.within.ranks;
    });
    if (!is_there) root_cause.within = {};
  }
}

}  // namespace megascope::answer
