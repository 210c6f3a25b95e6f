#include "analysis/detect/culprits.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/detect/statistics.h"

namespace megascope::detect {
namespace {

constexpr double kShareOfReplica = 0.6;
constexpr double kRemainder = 0.25;   ///< of slow work: pauses below it are no cause of their own
constexpr double kAlike = 2.5;        ///< how far the excesses of one cause lie apart

/// The time that a finding explains in a step: what the work took beyond what it would have.
double saved_ns(double time_ns, double excess) { return time_ns * -std::expm1(-excess); }

class Namer {
 public:
  Namer(const Reduced& reduced, const Peers& peers, const WorkSeries& work, const Findings& findings, const Options& options)
      : reduced_(reduced), peers_(peers), work_(work), findings_(findings), options_(options),
        is_explained_(reduced.ranks.size(), false), is_class_explained_(peers.classes.size(), false) {}

  std::vector<Culprit> name() {
    for (std::size_t host = 0; host < peers_.hosts.size(); ++host) name_host(host);
    for (std::size_t replica = 0; replica < peers_.replicas.size(); ++replica) name_replica(replica);
    for (std::size_t i = 0; i < peers_.classes.size(); ++i) name_class(i);
    for (std::size_t rank = 0; rank < reduced_.ranks.size(); ++rank) {
      if (findings_.ranks[rank].is_there() && !is_explained_[rank]) add(Cause::kSlowCompute, {rank}, findings_.ranks[rank]);
      if (findings_.stalls[rank].is_there() && !is_remainder(rank)) add(Cause::kHostStall, {rank}, findings_.stalls[rank]);
    }
    name_links();
    std::stable_sort(culprits_.begin(), culprits_.end(),
                     [](const Culprit& a, const Culprit& b) { return a.cost_fraction > b.cost_fraction; });
    return std::move(culprits_);
  }

 private:
  /// The rank's own, else that of its class.
  const Finding& finding_of(std::size_t rank) const {
    return findings_.ranks[rank].is_there() ? findings_.ranks[rank] : findings_.classes[peers_.class_of[rank]];
  }

  /// The step's last work may be counted in the next step, where it looks like a pause once it is slow.
  bool is_remainder(std::size_t rank) const {
    return finding_of(rank).is_there() && findings_.stalls[rank].excess < kRemainder * finding_of(rank).excess;
  }

  bool are_alike(const std::vector<std::size_t>& ranks) const {
    std::vector<double> onsets;
    std::vector<double> excesses;
    for (const std::size_t rank : ranks) {
      if (!finding_of(rank).is_there()) return false;
      onsets.push_back(static_cast<double>(finding_of(rank).onset));
      excesses.push_back(finding_of(rank).excess);
    }
    const double onset = median(onsets);
    const double excess = median(excesses);
    const double apart = std::max(3.0, 0.25 * static_cast<double>(reduced_.step_count));
    return std::all_of(ranks.begin(), ranks.end(), [&](std::size_t rank) {
      const Finding& one = finding_of(rank);
      return std::abs(static_cast<double>(one.onset) - onset) <= apart && one.excess < kAlike * excess && kAlike * one.excess > excess;
    });
  }

  /// All ranks of a host are slow alike. Where the host is one whole stage since the first step, the stage is more likely.
  void name_host(std::size_t host) {
    const std::vector<std::size_t>& ranks = peers_.hosts[host];
    if (peers_.hosts.size() < 2 || ranks.size() < 2 || !are_alike(ranks)) return;
    std::set<std::size_t> whole;
    for (const std::size_t rank : ranks) {
      if (!findings_.ranks[rank].is_there()) whole.insert(peers_.class_of[rank]);
    }
    for (const std::size_t one : whole) {
      for (const std::size_t member : peers_.classes[one]) {
        if (peers_.host_of[member] != host) return;
      }
    }
    const bool is_a_stage = whole.size() == 1 && peers_.classes[*whole.begin()].size() == ranks.size();
    if (is_a_stage && finding_of(ranks[0]).onset <= 1) return;
    if (is_of_slow_replica(ranks)) return;
    const bool is_a_replica = std::any_of(peers_.replicas.begin(), peers_.replicas.end(), [&](const auto& one) { return one == ranks; });
    if (is_a_replica && replica_is_uneven(ranks)) return;
    for (const std::size_t one : whole) is_class_explained_[one] = true;
    for (const std::size_t rank : ranks) is_explained_[rank] = true;
    add(Cause::kSlowHost, ranks, typical(ranks));
  }

  /// Is the host part of a replica whose other ranks are slow as well? Then that is one cause.
  bool is_of_slow_replica(const std::vector<std::size_t>& ranks) const {
    for (const auto& replica : peers_.replicas) {
      if (replica.size() <= ranks.size() || !std::includes(replica.begin(), replica.end(), ranks.begin(), ranks.end())) continue;
      const auto slow = static_cast<std::size_t>(
          std::count_if(replica.begin(), replica.end(), [&](std::size_t rank) { return findings_.ranks[rank].is_there(); }));
      return static_cast<double>(slow - ranks.size()) >= kShareOfReplica * static_cast<double>(replica.size() - ranks.size());
    }
    return false;
  }

  Finding typical(const std::vector<std::size_t>& ranks) const {
    std::vector<std::pair<double, std::size_t>> by_excess;
    for (const std::size_t rank : ranks) by_excess.emplace_back(finding_of(rank).excess, rank);
    std::sort(by_excess.begin(), by_excess.end());
    Finding finding = finding_of(by_excess[by_excess.size() / 2].second);
    std::vector<double> onsets;
    std::vector<double> lasts;
    for (const std::size_t rank : ranks) {
      onsets.push_back(static_cast<double>(finding_of(rank).onset));
      lasts.push_back(static_cast<double>(finding_of(rank).last));
      finding.z = std::max(finding.z, finding_of(rank).z);
    }
    finding.onset = static_cast<std::size_t>(median(onsets));
    finding.last = static_cast<std::size_t>(median(lasts));
    return finding;
  }

  /// Beside what it is in the middle: a steady machine shows the least unevenness of a rank that is slow all the time.
  static bool varies_by_much(std::vector<double> excess) {
    constexpr double kLeastShare = 0.25;
    std::sort(excess.begin(), excess.end());
    const double spread = excess[excess.size() * 4 / 5] - excess[excess.size() / 5];
    return spread > kLeastShare * std::fabs(excess[excess.size() / 2]);
  }

  /// Is what the replica's ranks have in common uneven? The middle rank of each step: its noise falls with their number.
  bool replica_is_uneven(const std::vector<std::size_t>& ranks) const {
    std::vector<double> values;
    std::vector<double> series;
    for (std::size_t step = 0; step < reduced_.step_count; ++step) {
      values.clear();
      for (const std::size_t rank : ranks) values.push_back(work_.excess[rank][step]);
      series.push_back(median(values));
    }
    const Finding finding = typical(ranks);
    if (!varies_by_much({series.begin() + static_cast<std::ptrdiff_t>(finding.onset), series.begin() + static_cast<std::ptrdiff_t>(finding.last + 1)})) {
      return false;
    }
    double noise = 0.0;
    for (const std::size_t rank : ranks) noise = std::max(noise, work_.independent[rank]);
    const auto count = static_cast<double>(ranks.size());
    if (ranks.size() > 1) noise *= 1.25 / std::sqrt(count);
    return is_uneven(series, 0.0, finding, noise * std::sqrt(2.0));
  }

  /// Most ranks of a replica are slow: the same in all its stages is what they are given to do.
  void name_replica(std::size_t index) {
    std::vector<std::size_t> slow;
    for (const std::size_t rank : peers_.replicas[index]) {
      if (findings_.ranks[rank].is_there() && !is_explained_[rank]) slow.push_back(rank);
    }
    const auto least = kShareOfReplica * static_cast<double>(peers_.replicas[index].size());
    if (slow.empty() || static_cast<double>(slow.size()) < least) return;
    if (slow.size() < 3 && !replica_is_uneven(slow)) return;
    for (const std::size_t rank : slow) is_explained_[rank] = true;
    Finding finding = typical(slow);
    settle_uneven(slow, finding);
    add(Cause::kInputImbalance, peers_.replicas[index], finding);
    culprits_.back().groups["dp"] = static_cast<std::int32_t>(index);
  }

  /// Work that varies is not slow in some steps and quick in others: all steps of the stretch count.
  void settle_uneven(const std::vector<std::size_t>& ranks, Finding& finding) const {
    finding.excess = 0.0;
    finding.active_steps = finding.last - finding.onset + 1;
    for (std::size_t step = finding.onset; step <= finding.last; ++step) {
      finding.is_active[step] = true;
      for (const std::size_t rank : ranks) finding.excess += work_.excess[rank][step];
    }
    finding.excess /= static_cast<double>(finding.active_steps * ranks.size());
  }

  void name_class(std::size_t index) {
    const Finding& finding = findings_.classes[index];
    if (!finding.is_there() || is_class_explained_[index]) return;
    const bool is_one_rank = peers_.classes[index].size() == 1;
    const bool is_stage = peers_.is_pipeline && !(is_one_rank && finding.onset > 1);
    add(is_stage ? Cause::kStageImbalance : Cause::kSlowCompute, peers_.classes[index], finding);
    if (is_stage) culprits_.back().groups["pp"] = static_cast<std::int32_t>(index);
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

  /// A call that waits for several messages ends with the last: all of them look slow. Those that are slow the other way too are.
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
      is_blamed.push_back(findings_.links[i].is_there() && (is_mutual || (!has_better && is_measured_alone(link))));
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
        const bool is_same = std::minmax(reduced_.links[other].from, reduced_.links[other].to) == ends;
        if (is_same && findings_.links[other].z > findings_.links[strongest].z) strongest = other;
      }
      add_link(strongest);
    }
  }

  double run_ns() const {
    double longest = 1.0;
    for (const RankSteps& rank : reduced_.ranks) longest = std::max(longest, static_cast<double>(rank.steps.back().end_ns - rank.begin_ns));
    return longest;
  }

  void add_link(std::size_t index) {
    const Link& link = reduced_.links[index];
    const Finding& finding = findings_.links[index];
    Culprit culprit = common(Cause::kSlowLink, {std::min(link.from, link.to), std::max(link.from, link.to)}, finding);
    double cost = 0.0;
    for (std::size_t step = 0; step < reduced_.step_count; ++step) {
      if (finding.is_active[step]) cost += saved_ns(link.steps[step].total_ns, finding.excess);
    }
    culprit.cost_fraction = std::min(1.0, cost / run_ns());
    const Link::Step& shown = link.steps[worst(finding)];
    const double messages = shown.alone + shown.others;
    culprit.evidence = evidence(link.to, finding, messages > 0.0 ? std::exp((shown.sum_log + shown.sum_log_others) / messages) : 0.0);
    culprit.evidence.what = "transfer " + std::to_string(reduced_.ranks[link.from].world_rank) + " -> " +
                            std::to_string(reduced_.ranks[link.to].world_rank);
    culprits_.push_back(std::move(culprit));
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

  Culprit common(Cause cause, const std::vector<std::size_t>& ranks, const Finding& finding) const {
    Culprit culprit;
    culprit.cause = cause;
    std::set<std::string> hosts;
    for (const std::size_t rank : ranks) {
      culprit.ranks.push_back(reduced_.ranks[rank].world_rank);
      hosts.insert(reduced_.ranks[rank].host);
    }
    std::sort(culprit.ranks.begin(), culprit.ranks.end());
    culprit.hosts.assign(hosts.begin(), hosts.end());
    culprit.factor = std::exp(finding.excess);
    culprit.onset_step = static_cast<std::int32_t>(finding.onset);
    culprit.last_step = static_cast<std::int32_t>(finding.last);
    culprit.active_steps = static_cast<std::int32_t>(finding.active_steps);
    const double beyond = 0.5 * (finding.threshold * finding.threshold - finding.z * finding.z);
    culprit.confidence = 1.0 - options_.false_alarm_rate * std::exp(std::min(0.0, beyond));
    return culprit;
  }

  void add(Cause cause, const std::vector<std::size_t>& ranks, const Finding& finding) {
    Culprit culprit = common(cause, ranks, finding);
    double cost = 0.0;
    for (std::size_t step = finding.onset; step <= finding.last; ++step) {
      if (!finding.is_active[step]) continue;
      double most = 0.0;
      for (const std::size_t rank : ranks) most = std::max(most, saved_ns(reduced_.ranks[rank].work_ns(step), finding.excess));
      cost += most;
    }
    culprit.cost_fraction = std::min(1.0, cost / run_ns());
    culprit.evidence = evidence(ranks[0], finding, reduced_.ranks[ranks[0]].work_ns(worst(finding)));
    culprit.evidence.what = cause == Cause::kHostStall ? "pauses between MPI calls" : "work between MPI calls";
    culprit.evidence.peer_count = static_cast<std::int32_t>(peers_.classes[peers_.class_of[ranks[0]]].size()) - 1;
    culprits_.push_back(std::move(culprit));
  }

  const Reduced& reduced_;
  const Peers& peers_;
  const WorkSeries& work_;
  const Findings& findings_;
  const Options& options_;
  std::vector<bool> is_explained_;
  std::vector<bool> is_class_explained_;
  std::vector<Culprit> culprits_;
};

}  // namespace

std::vector<Culprit> name_culprits(const Reduced& reduced, const Peers& peers, const WorkSeries& work, const Findings& findings,
                                   const Options& options) {
  return Namer(reduced, peers, work, findings, options).name();
}

}  // namespace megascope::detect
