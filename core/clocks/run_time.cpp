#include "core/clocks/run_time.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace megascope {
namespace {

constexpr double kMinRate = 1e-3;  // smallest plausible ns for each tick
constexpr double kMaxRate = 1e3;

bool is_rate(double ns_per_tick) { return ns_per_tick >= kMinRate && ns_per_tick <= kMaxRate; }

double ns_per_tick(const ClockDomain& clock) {
  if (clock.kind == ClockKind::kMonotonic) return 1.0;
  const auto ticks = static_cast<double>(clock.last.ticks - clock.first.ticks);
  const auto elapsed_ns = static_cast<double>(clock.last.monotonic_ns - clock.first.monotonic_ns);
  // Without two distinct moments (a process that ended at once), or with damaged ones, one tick
  // counts as one ns.
  const double rate = clock.last.ticks > clock.first.ticks ? elapsed_ns / ticks : 0.0;
  return is_rate(rate) ? rate : 1.0;
}

/// Maps by the domain's own CLOCK_REALTIME.
TimeMap wall_line(const ClockDomain& clock) {
  return {clock.first.ticks, ns_per_tick(clock), clock.first.realtime_ns};
}

/// One moment on two clocks, and its error bound.
struct ClockComparison {
  std::uint64_t ticks = 0;        ///< of the clock to be mapped
  std::uint64_t known_ticks = 0;  ///< of the clock already mapped
  double half_ns = 0.0;
};

std::uint64_t middle_of(const ClockSample& sample) {
  return sample.sent_ticks + (sample.received_ticks - sample.sent_ticks) / 2;
}
double half_width_ns(const ClockSample& sample, double rate) {
  return static_cast<double>(sample.received_ticks - sample.sent_ticks) / 2 * rate;
}

/// Sorts the comparisons by time and removes disturbed ones: those delayed by a busy machine are
/// less accurate than their neighbours.
std::vector<ClockComparison> calm(std::vector<ClockComparison> comparisons) {
  std::sort(comparisons.begin(), comparisons.end(),
            [](const ClockComparison& a, const ClockComparison& b) { return a.ticks < b.ticks; });
  if (comparisons.size() < 3) return comparisons;
  std::vector<double> halves;
  for (const ClockComparison& comparison : comparisons) halves.push_back(comparison.half_ns);
  std::nth_element(halves.begin(), halves.begin() + static_cast<std::ptrdiff_t>(halves.size() / 2),
                   halves.end());
  constexpr double kMaxOfMedian = 4.0;
  const double most = kMaxOfMedian * halves[halves.size() / 2];
  // Keep the first and the last, so that nothing between them is extrapolated.
  const auto end = std::remove_if(
      comparisons.begin() + 1, comparisons.end() - 1,
      [most](const ClockComparison& comparison) { return comparison.half_ns > most; });
  comparisons.erase(end, comparisons.end() - 1);
  return comparisons;
}

constexpr double kMaxNs = static_cast<double>(std::int64_t{1} << 61);

/// The knots of the comparisons and their error bound. Two or more are far enough apart to give the
/// rate; otherwise one remains.
struct Knots {
  std::vector<TimeMap::Knot> knots;
  std::vector<double> half_ns;
};
Knots knots_of(const std::vector<ClockComparison>& comparisons, const TimeMap& known) {
  Knots found;
  for (const ClockComparison& comparison : comparisons) {
    const TimeMap::Knot knot{comparison.ticks, known.to_signed_ns(comparison.known_ticks)};
    if (std::fabs(static_cast<double>(knot.time_ns)) > kMaxNs) continue;
    if (!found.knots.empty()) {
      const TimeMap::Knot& last = found.knots.back();
      const auto elapsed_ns = static_cast<double>(knot.time_ns - last.time_ns);
      if (knot.ticks <= last.ticks ||
          !is_rate(elapsed_ns / static_cast<double>(knot.ticks - last.ticks)))
        continue;
    }
    found.knots.push_back(knot);
    found.half_ns.push_back(comparison.half_ns);
  }
  return found;
}

/// Rate of a clock outside of the knots, and its relative uncertainty.
struct OuterRate {
  double ns_per_tick = 1.0;
  double doubt = 0.0;
};

/// Returns the rate given by the first and last knot if they are accurate enough, else the clock's
/// own rate. known_ns: error of the time that the knots refer to, independent at each of them.
OuterRate outer_rate(const Knots& found, double own_rate, double known_ns) {
  constexpr double
      kQuartzDoubt = 50e-6;  // a less accurate measurement is worse than the clock's own rate
  constexpr double kTwoQuartzDoubt = 200e-6;  // two clocks of up to 100 ppm against each other
  const TimeMap::Knot& first = found.knots.front();
  const TimeMap::Knot& last = found.knots.back();
  const auto elapsed_ns = static_cast<double>(last.time_ns - first.time_ns);
  if (elapsed_ns <= 0) return {own_rate, kTwoQuartzDoubt};
  const double doubt = (found.half_ns.front() + found.half_ns.back() + 2 * known_ns) / elapsed_ns;
  if (doubt > kQuartzDoubt) return {own_rate, kTwoQuartzDoubt};
  return {elapsed_ns / static_cast<double>(last.ticks - first.ticks), doubt};
}

/// Returns the longest time of a clock before its first or after its last knot.
double reach_ns(const Knots& found, const ClockDomain& clock, double ns_per_tick) {
  const std::uint64_t first = found.knots.front().ticks;
  const std::uint64_t last = found.knots.back().ticks;
  const std::uint64_t before = first - std::min(first, clock.start_ticks);
  const std::uint64_t behind = std::max(last, clock.end_ticks) - last;
  return static_cast<double>(std::max(before, behind)) * ns_per_tick;
}

DomainTime placed_by(const std::vector<ClockComparison>& comparisons, const DomainTime& known,
                     const ClockDomain& clock) {
  const Knots found = knots_of(comparisons, known.map);
  if (found.knots.empty()) return {};
  const OuterRate rate = outer_rate(found, ns_per_tick(clock), known.error_ns);
  const double measured_ns = *std::max_element(found.half_ns.begin(), found.half_ns.end());
  return {.map = TimeMap::through(found.knots, rate.ns_per_tick),
          .is_measured = true,
          .error_ns = known.error_ns + measured_ns +
                      reach_ns(found, clock, rate.ns_per_tick) * rate.doubt};
}

/// Maps one domain after the other, starting at the domain whose time is the run's.
class Placement {
 public:
  explicit Placement(const std::vector<ClockDomain>& domains)
      : domains_(domains), times_(domains.size()), is_placed_(domains.size()) {
    for (std::size_t i = 0; i < domains.size(); ++i) index_[domains[i].id] = i;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      for (const ClockSample& sample : domains[i].samples) add_comparison(i, sample);
    }
  }

  const std::vector<DomainTime>& run() {
    const auto root = std::min_element(
        domains_.begin(), domains_.end(),
        [](const ClockDomain& a, const ClockDomain& b) { return a.lowest_rank < b.lowest_rank; });
    const auto first = static_cast<std::size_t>(root - domains_.begin());
    place(first, {.map = wall_line(*root), .is_measured = true, .error_ns = 0.0});
    for (; !next_.empty(); next_.pop()) place_neighbours(next_.front());
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (!is_placed_[i]) times_[i].map = wall_line(domains_[i]);
    }
    return times_;
  }

 private:
  void add_comparison(std::size_t asker, const ClockSample& sample) {
    const auto peer = index_.find(sample.peer_domain);
    if (peer == index_.end() || peer->second == asker || sample.received_ticks < sample.sent_ticks)
      return;
    const double half_ns = half_width_ns(sample, ns_per_tick(domains_[asker]));
    const std::uint64_t middle = middle_of(sample);
    comparisons_[peer->second][asker].push_back({middle, sample.peer_ticks, half_ns});
    comparisons_[asker][peer->second].push_back({sample.peer_ticks, middle, half_ns});
  }
  void place(std::size_t domain, DomainTime time) {
    times_[domain] = std::move(time);
    is_placed_[domain] = true;
    next_.push(domain);
  }
  void place_neighbours(std::size_t known) {
    for (const auto& [domain, comparisons] : comparisons_[known]) {
      if (is_placed_[domain]) continue;
      DomainTime time = placed_by(calm(comparisons), times_[known], domains_[domain]);
      if (time.is_measured) place(domain, std::move(time));
    }
  }

  const std::vector<ClockDomain>& domains_;
  std::vector<DomainTime> times_;
  std::vector<bool> is_placed_;
  std::map<std::uint64_t, std::size_t> index_;
  std::map<std::size_t, std::map<std::size_t, std::vector<ClockComparison>>>
      comparisons_;  ///< by the mapped clock, then by the other
  std::queue<std::size_t> next_;
};

/// Returns the time at which the domain's first process started, bounded because a damaged start
/// may be anywhere.
std::int64_t start_of(const ClockDomain& clock, const TimeMap& map) {
  constexpr std::int64_t kFarNs = std::int64_t{1} << 60;
  const std::int64_t first_ns = std::clamp(map.to_signed_ns(clock.first.ticks), -2 * kFarNs,
                                           2 * kFarNs);
  return std::clamp(map.to_signed_ns(clock.start_ticks), first_ns - kFarNs, first_ns + kFarNs);
}

}  // namespace

RunTime run_time_of(const std::vector<ClockDomain>& domains) {
  Placement placement(domains);
  const std::vector<DomainTime>& times = placement.run();
  RunTime run;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const std::int64_t start_ns = start_of(domains[i], times[i].map);
    if (i == 0 || start_ns < run.start_realtime_ns) run.start_realtime_ns = start_ns;
  }
  for (std::size_t i = 0; i < domains.size(); ++i) {
    DomainTime& time = run.domains[domains[i].id];
    time = times[i];
    time.map = times[i].map.counted_from(run.start_realtime_ns);
  }
  return run;
}

}  // namespace megascope
