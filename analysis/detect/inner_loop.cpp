#include "analysis/detect/inner_loop.h"

#include "analysis/detect/statistics.h"
#include "core/base/hash.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace megascope::detect {
namespace {

constexpr std::uint64_t kMinBodies = 8;
constexpr double kMinTimesOuter = 2.0;
constexpr std::size_t kMaxTries = 64;
constexpr std::uint32_t kMaxEvery = 16;
constexpr double
    kMinShare = 0.85;  ///< fraction of the calls that must be in iterations equal to the next one
constexpr double kMaxOuterWork = 2.0;  ///< work of iterations with an outer call, over that of the
                                       ///< others, at most

/// The calls between two consecutive occurrences of a kind.
struct Interval {
  std::uint64_t hash = 0;
  std::uint32_t calls = 0;
};

class Search {
 public:
  Search(const CallKinds& calls, std::size_t outer)
      : calls_(calls), outer_(outer), counts_(calls.all().size()) {
    for (const CallKinds::Made& call : calls.order()) ++counts_[call.kind];
  }

  InnerLoop best() const {
    InnerLoop best;
    std::tuple<double, double> rank_of_best;
    for (const std::size_t kind : candidates()) {
      if (best.is_found() && static_cast<double>(counts_[kind]) > best.count * kMaxEvery) break;
      InnerLoop loop = loop_of(kind);
      if (!loop.is_found()) continue;
      const double distance = align(loop);
      if (does_outer_work(loop)) continue;
      const std::tuple rank(loop.count, distance);
      if (best.is_found() && rank_of_best <= rank) continue;
      best = loop;
      rank_of_best = rank;
    }
    return best;
  }

 private:
  double outer_count() const {
    return outer_ == kNoKind ? 0.0 : static_cast<double>(counts_[outer_]);
  }

  /// Returns the kinds that are tried, the rarest first.
  std::vector<std::size_t> candidates() const {
    std::vector<std::size_t> found;
    for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
      const bool is_often = counts_[kind] >= kMinBodies &&
                            static_cast<double>(counts_[kind]) >= kMinTimesOuter * outer_count();
      if (is_often) found.push_back(kind);
    }
    std::ranges::stable_sort(found, {}, [&](std::size_t kind) { return counts_[kind]; });
    if (found.size() > kMaxTries) found.resize(kMaxTries);
    return found;
  }

  /// Returns the intervals between occurrences of a kind. Ignores the calls before the first and
  /// after the last occurrence, and kinds that are much rarer than once an iteration.
  std::vector<Interval> intervals_of(std::size_t kind, std::uint32_t every) const {
    std::vector<Interval> intervals;
    Interval now;
    bool has_begun = false;
    for (const auto& [other, work_ns] : calls_.order()) {
      ++now.calls;
      if (counts_[other] * 2 * every < counts_[kind]) continue;
      now.hash = mix(now.hash ^ other);
      if (other != kind) continue;
      if (has_begun) intervals.push_back(now);
      has_begun = true;
      now = {};
    }
    return intervals;
  }

  /// Returns the loop that this kind marks, if there is one. InnerLoop::every is the smallest
  /// number of occurrences after which nearly all calls repeat.
  InnerLoop loop_of(std::size_t kind) const {
    for (std::uint32_t every = 1; every <= kMaxEvery; ++every) {
      const double count = static_cast<double>(counts_[kind]) / every;
      if (count < kMinBodies || count < kMinTimesOuter * outer_count()) break;
      const std::vector<Interval> intervals = intervals_of(kind, every);
      double same = 0.0;
      double all = 0.0;
      for (std::size_t i = 0; i + every < intervals.size(); ++i) {
        all += intervals[i].calls;
        if (intervals[i].hash == intervals[i + every].hash) same += intervals[i].calls;
      }
      if (same >= kMinShare * all)
        return {.kind = kind,
                .every = every,
                .offset = every - 1,
                .count = count,
                .outer_count = outer_count()};
    }
    return {};
  }

  /// Sets the offset at which most outer calls follow. Returns the mean number of calls from the
  /// end of an iteration to the next outer call.
  double align(InnerLoop& loop) const {
    std::vector<std::uint32_t> votes(loop.every);
    std::uint32_t occurrences = 0;
    std::uint64_t since = 0;
    double sum = 0.0;
    for (const auto& [kind, work_ns] : calls_.order()) {
      ++since;
      if (kind == loop.kind) {
        ++occurrences;
        since = 0;
      }
      if (kind != outer_ || occurrences == 0) continue;
      ++votes[(occurrences - 1) % loop.every];
      sum += static_cast<double>(since);
    }
    const auto most = std::ranges::max_element(votes);
    if (*most > 0) loop.offset = static_cast<std::uint32_t>(most - votes.begin());
    return sum / std::max(outer_count(), 1.0);
  }

  /// Returns whether iterations with an outer call contain much more work than the others.
  bool does_outer_work(const InnerLoop& loop) const {
    std::vector<double> with;
    std::vector<double> without;
    std::uint32_t occurrences = 0;
    double body_ns = 0.0;
    bool has_begun = false;
    bool has_outer = false;
    for (const auto& [kind, work_ns] : calls_.order()) {
      body_ns += static_cast<double>(work_ns);
      has_outer = has_outer || kind == outer_;
      if (kind != loop.kind || occurrences++ % loop.every != loop.offset) continue;
      if (has_begun) (has_outer ? with : without).push_back(body_ns);
      has_begun = true;
      body_ns = 0.0;
      has_outer = false;
    }
    return !with.empty() && !without.empty() && median(with) > kMaxOuterWork * median(without);
  }

  const CallKinds& calls_;
  std::size_t outer_;
  std::vector<std::uint64_t> counts_;  ///< by kind, in the recorded part of the sequence of calls
};

}  // namespace

InnerLoop find_inner_loop(const CallKinds& calls, std::size_t outer) {
  return Search(calls, outer).best();
}

}  // namespace megascope::detect
