#include "analysis/detect/root_causes.h"

#include "analysis/detect/lone_pauses.h"
#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace megascope::detect {
namespace {

constexpr double kRemainder = 0.25;  ///< fraction of the excess of a rank's slow work; smaller
                                     ///< pauses are not reported separately

/// Returns the part of time_ns that the slowness with this excess (a log factor) costs, in ns.
double saved_ns(double time_ns, double excess) { return time_ns * -std::expm1(-excess); }

class Namer {
 public:
  Namer(const Reduced& reduced, const Peers& peers, const Findings& findings,
        const Options& options)
      : reduced_(reduced),
        peers_(peers),
        findings_(findings),
        options_(options),
        excess_(reduced.ranks.size(), 0.0) {}

  std::vector<RootCause> name() {
    for (const SlowUnit& unit : findings_.units) {
      if (!is_explained_by_stall(unit)) name_unit(unit);
    }
    for (std::size_t rank = 0; rank < reduced_.ranks.size(); ++rank) {
      if (findings_.stalls[rank].is_there() && !is_remainder(rank) && !has_pauses(rank))
        add(Cause::kHostStall, {rank}, findings_.stalls[rank]);
    }
    name_links();
    std::stable_sort(
        root_causes_.begin(), root_causes_.end(),
        [](const RootCause& a, const RootCause& b) { return a.cost_fraction > b.cost_fraction; });
    return std::move(root_causes_);
  }

 private:
  void name_unit(const SlowUnit& unit) {
    add(cause_of(unit), unit.ranks, unit.finding);
    if (unit.balance_factor > 1.0) root_causes_.back().balance_factor = unit.balance_factor;
    if (root_causes_.back().cause == Cause::kInputImbalance)
      root_causes_.back().balance_factor = 1.0;  // the replay compares operations by type instead
    if (unit.kind == Together::kReplica)
      root_causes_.back().groups["dp"] = static_cast<std::int32_t>(unit.index);
    if (root_causes_.back().cause == Cause::kStageImbalance)
      root_causes_.back().groups["pp"] = static_cast<std::int32_t>(unit.index);
    if (!unit.within.empty()) set_within(unit);
    if (unit.kind == Together::kSynchronised) root_causes_.back().synchronised_in = unit.operation;
    for (const std::size_t rank : unit.ranks)
      excess_[rank] = std::max(excess_[rank], unit.finding.excess);
  }

  void set_within(const SlowUnit& unit) {
    Whole& within = root_causes_.back().within;
    within.cause = Cause::kSlowHost;
    for (const std::size_t rank : unit.within)
      within.ranks.push_back(reduced_.ranks[rank].world_rank);
    std::sort(within.ranks.begin(), within.ranks.end());
    root_causes_.back().evidence.peer_count = static_cast<std::int32_t>(unit.within.size()) - 1;
  }

  Cause cause_of(const SlowUnit& unit) const {
    if (unit.kind == Together::kReplicas) return Cause::kInputImbalance;
    if (unit.kind == Together::kHost) return Cause::kSlowHost;
    if (unit.kind == Together::kReplica)
      return unit.is_uneven ? Cause::kInputImbalance : Cause::kSlowCompute;
    if (unit.kind == Together::kRank) {
      const std::size_t rank = unit.ranks[0];
      return are_pauses(reduced_, peers_.classes[peers_.class_of[rank]], rank, unit.finding)
                 ? Cause::kHostStall
                 : Cause::kSlowCompute;
    }
    if (unit.kind == Together::kSynchronised) return Cause::kSlowCompute;
    const bool is_stage = peers_.is_pipeline && !(unit.ranks.size() == 1 && unit.finding.onset > 1);
    return is_stage ? Cause::kStageImbalance : Cause::kSlowCompute;
  }

  /// Returns whether the unit's slow steps are the same pauses that stalled_ranks() found, with at
  /// least the same excess.
  bool is_explained_by_stall(const SlowUnit& unit) const {
    if (unit.kind != Together::kRank) return false;
    const Finding& stall = findings_.stalls[unit.ranks[0]];
    return stall.is_there() && stall.excess >= unit.finding.excess &&
           cause_of(unit) == Cause::kHostStall;
  }

  /// Returns whether the rank's pauses are a side effect of its slow work: the last work of a step
  /// may be counted in the next step, where it looks like a pause when it is slow.
  bool is_remainder(std::size_t rank) const {
    return findings_.stalls[rank].excess < kRemainder * excess_[rank];
  }

  /// Returns whether the rank has a root cause of pauses already, from its slow work. Its longest
  /// pauses are then no second root cause.
  bool has_pauses(std::size_t rank) const {
    return std::ranges::any_of(root_causes_, [&](const RootCause& root_cause) {
      return root_cause.cause == Cause::kHostStall &&
             root_cause.ranks.front() == reduced_.ranks[rank].world_rank;
    });
  }

  static bool is_measured_alone(const Link& link) {
    std::size_t alone = 0;
    std::size_t others = 0;
    for (const Link::Step& step : link.steps) {
      alone += step.alone;
      others += step.others;
    }
    return alone >= others;
  }

  /// Returns, by link, whether it is reported. A call that waits for several messages ends with the
  /// last one, so all of its links look slow. Links that are slow in both directions are reported;
  /// if there are none at this receiver, those whose messages were mostly waited for alone.
  std::vector<bool> links_to_blame() const {
    std::set<std::pair<std::size_t, std::size_t>> slow;
    for (std::size_t i = 0; i < reduced_.links.size(); ++i) {
      if (findings_.links[i].is_there()) slow.emplace(reduced_.links[i].from, reduced_.links[i].to);
    }
    std::vector<bool> is_blamed;
    for (std::size_t i = 0; i < reduced_.links.size(); ++i) {
      const Link& link = reduced_.links[i];
      const bool is_mutual = slow.contains({link.to, link.from});
      const bool has_better = std::any_of(slow.begin(), slow.end(), [&](const auto& other) {
        return other.second == link.to && slow.contains({other.second, other.first});
      });
      is_blamed.push_back(findings_.links[i].is_there() &&
                          (is_mutual || (!has_better && is_measured_alone(link))));
    }
    return is_blamed;
  }

  void name_links() {
    const std::vector<bool> is_blamed = links_to_blame();
    std::set<std::pair<std::size_t, std::size_t>> named;
    for (std::size_t i = 0; i < reduced_.links.size(); ++i) {
      const Link& link = reduced_.links[i];
      const auto ends = std::minmax(link.from, link.to);
      if (!is_blamed[i] || named.contains(ends)) continue;
      named.insert(ends);
      std::size_t strongest = i;
      for (std::size_t other = i + 1; other < reduced_.links.size(); ++other) {
        const bool is_same = std::minmax(reduced_.links[other].from, reduced_.links[other].to) ==
                             ends;
        if (is_same && findings_.links[other].score > findings_.links[strongest].score)
          strongest = other;
      }
      add_link(strongest);
    }
  }

  double run_ns() const {
    double longest = 1.0;
    for (const RankSteps& rank : reduced_.ranks)
      longest = std::max(longest, static_cast<double>(rank.steps.back().end_ns - rank.begin_ns));
    return longest;
  }

  void add_link(std::size_t index) {
    const Link& link = reduced_.links[index];
    const Finding& finding = findings_.links[index];
    RootCause root_cause = common(
        Cause::kSlowLink, {std::min(link.from, link.to), std::max(link.from, link.to)}, finding);
    double cost = 0.0;
    for (std::size_t step = 0; step < reduced_.step_count; ++step) {
      if (finding.is_active[step]) cost += saved_ns(link.steps[step].total_ns, finding.excess);
    }
    root_cause.cost_fraction = std::min(1.0, cost / run_ns());
    const Link::Step& shown = link.steps[worst(finding)];
    const double messages = shown.alone + shown.others;
    root_cause.evidence = evidence(
        link.to, finding,
        messages > 0.0 ? std::exp((shown.sum_log + shown.sum_log_others) / messages) : 0.0);
    root_cause.links.emplace_back(reduced_.ranks[link.from].world_rank,
                                  reduced_.ranks[link.to].world_rank);
    root_cause.evidence.what = "transfer " + std::to_string(reduced_.ranks[link.from].world_rank) +
                               " -> " + std::to_string(reduced_.ranks[link.to].world_rank);
    root_causes_.push_back(std::move(root_cause));
  }

  static std::size_t worst(const Finding& finding) {
    std::size_t step = finding.onset;
    while (step < finding.last && !finding.is_active[step]) ++step;
    return step;
  }

  Evidence evidence(std::size_t rank, const Finding& finding, double observed_ns) const {
    const std::size_t step = worst(finding);
    const RankSteps& steps = reduced_.ranks[rank];
    Evidence result;
    result.world_rank = steps.world_rank;
    result.step = static_cast<std::int32_t>(step);
    result.begin_ns = step == 0 ? steps.begin_ns : steps.steps[step - 1].end_ns;
    result.end_ns = steps.steps[step].end_ns;
    result.observed_ns = observed_ns;
    result.expected_ns = observed_ns * std::exp(-finding.excess);
    return result;
  }

  RootCause common(Cause cause, const std::vector<std::size_t>& ranks,
                   const Finding& finding) const {
    RootCause root_cause;
    root_cause.cause = cause;
    std::set<std::string> hosts;
    for (const std::size_t rank : ranks) {
      root_cause.ranks.push_back(reduced_.ranks[rank].world_rank);
      hosts.insert(reduced_.ranks[rank].host);
    }
    std::sort(root_cause.ranks.begin(), root_cause.ranks.end());
    root_cause.hosts.assign(hosts.begin(), hosts.end());
    root_cause.factor = std::exp(finding.excess);
    root_cause.balance_factor = root_cause.factor;
    root_cause.onset_step = static_cast<std::int32_t>(finding.onset);
    root_cause.last_step = static_cast<std::int32_t>(finding.last);
    root_cause.active_steps = static_cast<std::int32_t>(finding.active_steps);
    for (std::size_t step = 0; step < finding.is_active.size(); ++step) {
      if (finding.is_active[step]) root_cause.steps.push_back(static_cast<std::int64_t>(step));
    }
    root_cause.confidence = 1.0 - options_.false_alarm_rate *
                                      std::exp(std::min(0.0, finding.threshold - finding.score));
    return root_cause;
  }

  void add(Cause cause, const std::vector<std::size_t>& ranks, const Finding& finding) {
    RootCause root_cause = common(cause, ranks, finding);
    double cost = 0.0;
    for (std::size_t step = finding.onset; step <= finding.last; ++step) {
      if (!finding.is_active[step]) continue;
      double most = 0.0;
      for (const std::size_t rank : ranks)
        most = std::max(most, saved_ns(reduced_.ranks[rank].work_ns(step), finding.excess));
      cost += most;
    }
    root_cause.cost_fraction = std::min(1.0, cost / run_ns());
    root_cause.evidence = evidence(ranks[0], finding,
                                   reduced_.ranks[ranks[0]].work_ns(worst(finding)));
    root_cause.evidence.what = cause == Cause::kHostStall ? "pauses between MPI calls"
                                                          : "work between MPI calls";
    root_cause.evidence.peer_count = static_cast<std::int32_t>(
                                         peers_.classes[peers_.class_of[ranks[0]]].size()) -
                                     1;
    root_causes_.push_back(std::move(root_cause));
  }

  const Reduced& reduced_;
  const Peers& peers_;
  const Findings& findings_;
  const Options& options_;
  std::vector<double> excess_;  ///< by rank: excess of its slow work, as a log factor
  std::vector<RootCause> root_causes_;
};

}  // namespace

std::vector<RootCause> name_root_causes(const Reduced& reduced, const Peers& peers,
                                        const Findings& findings, const Options& options) {
  return Namer(reduced, peers, findings, options).name();
}

}  // namespace megascope::detect
