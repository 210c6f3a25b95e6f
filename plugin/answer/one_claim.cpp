#include "plugin/answer/one_claim.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace megascope::answer {
namespace {

using detect::Cause;
using detect::Culprit;

bool is_pause(const Culprit& culprit) {
  return culprit.cause == Cause::kHostStall || culprit.cause == Cause::kBlocked ||
         culprit.cause == Cause::kPreempted;
}

bool contains(const Culprit& whole, const Culprit& part) {
  return std::ranges::includes(whole.ranks, part.ranks);
}

bool overlap(const Culprit& one, const Culprit& other) {
  return one.onset_step <= other.last_step && other.onset_step <= one.last_step;
}

bool claim_the_same(const Culprit& one, const Culprit& other) {
  return one.cause != Cause::kSlowLink && other.cause != Cause::kSlowLink &&
         is_pause(one) == is_pause(other) && overlap(one, other) &&
         (contains(one, other) || contains(other, one));
}

/// Ranks of a stage are compared with the stage's others, and ranks of replicas that all vary are
/// much slower than these.
bool is_compared_within(const Culprit& part, const Culprit& whole) {
  if (is_pause(part) || part.ranks.size() >= whole.ranks.size() || !contains(whole, part))
    return false;
  const bool is_stage = whole.cause == Cause::kStageImbalance;
  const bool are_all_replicas = whole.cause == Cause::kInputImbalance &&
                                !whole.groups.contains("dp");
  if (is_stage && part.cause == Cause::kSlowCompute)
    return part.evidence.peer_count + 1 == static_cast<std::int32_t>(whole.ranks.size());
  return are_all_replicas || (is_stage && part.cause == Cause::kSlowHost);
}

void set_within(Culprit& part, const Culprit& whole) {
  part.within = {whole.cause, whole.ranks, -1};
  part.has_specified_groups = whole.has_specified_groups;
  const auto stage = whole.groups.find("pp");
  if (whole.cause == Cause::kStageImbalance && whole.has_specified_groups &&
      stage != whole.groups.end())
    part.within.stage = stage->second;
}

/// The steps of one are those of both.
void widen(Culprit& kept, const Culprit& dropped) {
  std::vector<std::int64_t> steps;
  std::ranges::set_union(kept.steps, dropped.steps, std::back_inserter(steps));
  kept.onset_step = std::min(kept.onset_step, dropped.onset_step);
  kept.last_step = std::max(kept.last_step, dropped.last_step);
  kept.active_steps = std::max(
      {kept.active_steps, dropped.active_steps, static_cast<std::int32_t>(steps.size())});
  kept.steps = std::move(steps);
}

}  // namespace

void make_one_claim_each(std::vector<Culprit>& culprits) {
  std::ranges::stable_sort(culprits, std::greater<>(), &Culprit::cost_fraction);
  std::vector<Culprit> kept;
  for (Culprit& culprit : culprits) {
    bool is_claimed = false;
    for (Culprit& other : kept) {
      if (!claim_the_same(culprit, other)) continue;
      if (is_compared_within(culprit, other)) {
        set_within(culprit, other);
      } else if (is_compared_within(other, culprit)) {
        set_within(other, culprit);
      } else {
        if (culprit.ranks == other.ranks) widen(other, culprit);
        is_claimed = true;
        break;
      }
    }
    if (!is_claimed) kept.push_back(std::move(culprit));
  }
  culprits = std::move(kept);
}

void drop_absent_wholes(std::vector<Culprit>& culprits) {
  for (Culprit& culprit : culprits) {
    const bool is_there = std::ranges::any_of(culprits, [&culprit](const Culprit& other) {
      return other.cause == culprit.within.cause && other.ranks == culprit.within.ranks;
    });
    if (!is_there) culprit.within = {};
  }
}

}  // namespace megascope::answer
