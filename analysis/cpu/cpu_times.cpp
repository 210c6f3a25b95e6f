#include "analysis/cpu/cpu_times.h"

#include "analysis/common/parallel.h"
#include "analysis/detect/step_finder.h"
#include "core/record/cpu_reading.h"
#include "core/record/mpi_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace megascope::cpu {
namespace {

constexpr std::size_t kNoStep = ~std::size_t{0};
constexpr double kReadingNs = 10'000;  ///< time outside of the call, if readings are taken directly
                                       ///< before and after it
constexpr double kAlmostNone = 0.001;  ///< share of an interval

constexpr double kMaxCount = 1e18;  ///< 30 years in ns

/// The time between two readings, or the part of it that belongs to one step.
struct Segment {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::size_t interval = 0;  ///< between readings[interval] and the next
  std::size_t step = kNoStep;
  double inside_ns = 0.0;  ///< in MPI calls

  double wall_ns() const { return static_cast<double>(end_ns - begin_ns); }
};

/// A time at which the step that the thread is in changes.
struct Change {
  std::uint64_t time_ns;
  std::size_t step;
};

std::vector<Change> changes_of(const detect::StepTimes& steps) {
  std::vector<Change> changes;
  std::uint64_t last_ns = 0;
  for (std::size_t i = 0; i < steps.ends_ns.size(); ++i) {
    const std::uint64_t begin_ns = std::max(last_ns, steps.begin_of(i));
    const std::uint64_t end_ns = std::max(begin_ns, steps.ends_ns[i]);
    if (!changes.empty() && changes.back().time_ns == begin_ns) changes.pop_back();
    changes.push_back({begin_ns, i});
    changes.push_back({end_ns, kNoStep});
    last_ns = end_ns;
  }
  return changes;
}

/// Is it a possible number of ns or switches? False for NaN.
bool is_count(double value) { return value >= 0 && value < kMaxCount; }

class RankTimes {
 public:
  RankTimes(const RecordSource& source, std::int32_t world_rank) : source_(source) {
    result_.world_rank = world_rank;
    const ProcessDefinitions& process = source.process(world_rank);
    if (process.locations.empty()) return;
    location_ = detect::judged_location(process);
    read();
  }
  bool has_readings() const { return result_.has_readings(); }
  RankCpu take() { return std::move(result_); }

  void add_up() {
    for (std::size_t i = 0; i + 1 < readings_.size(); ++i) result_.whole.outside.add(charged(i));
    result_.whole.outside.wall_ns = static_cast<double>(readings_.back().time_ns -
                                                        readings_.front().time_ns);
  }

  void divide(const detect::StepTimes& steps) {
    cut(changes_of(steps));
    add_calls();
    divide(steps.ends_ns.size());
  }

 private:
  void read() {
    CpuReadings readings(source_.points(result_.world_rank, location_));
    for (CpuReading reading; readings.next(reading);) {
      const bool is_possible = is_count(reading.cpu_ns) && is_count(reading.wait_ns.value_or(0)) &&
                               is_count(reading.switches.value_or(0));
      const bool is_next = readings_.empty() || (reading.time_ns > readings_.back().time_ns &&
                                                 reading.cpu_ns >= readings_.back().cpu_ns);
      if (is_possible && is_next) readings_.push_back(reading);
    }
    result_.reading_count = readings_.size();
    result_.has_wait = !readings_.empty() &&
                       std::ranges::all_of(readings_, [](const CpuReading& one) {
                         return one.wait_ns.has_value();
                       });
  }

  void cut(const std::vector<Change>& changes) {
    std::size_t next = 0;
    std::size_t step = kNoStep;
    for (std::size_t i = 0; i + 1 < readings_.size(); ++i) {
      std::uint64_t at_ns = readings_[i].time_ns;
      for (; next < changes.size() && changes[next].time_ns < readings_[i + 1].time_ns; ++next) {
        add_segment(at_ns, changes[next].time_ns, i, step);
        at_ns = std::max(at_ns, changes[next].time_ns);
        step = changes[next].step;
      }
      add_segment(at_ns, readings_[i + 1].time_ns, i, step);
    }
  }

  void add_segment(std::uint64_t begin_ns, std::uint64_t end_ns, std::size_t interval,
                   std::size_t step) {
    if (end_ns > begin_ns) segments_.push_back({begin_ns, end_ns, interval, step});
  }

  /// Adds the time in calls to the segments in which they are.
  void add_calls() {
    const auto calls = mpi_calls(source_, result_.world_rank, location_);
    std::size_t first = 0;
    for (Call call; calls->next(call);) {
      if (call.depth != 0 || call.leave_ns <= call.enter_ns) continue;
      const double share = static_cast<double>(time_inside(call)) /
                           static_cast<double>(call.leave_ns - call.enter_ns);
      while (first < segments_.size() && segments_[first].end_ns <= call.enter_ns) ++first;
      for (std::size_t i = first; i < segments_.size() && segments_[i].begin_ns < call.leave_ns;
           ++i) {
        const std::uint64_t overlap_ns = std::min(segments_[i].end_ns, call.leave_ns) -
                                         std::max(segments_[i].begin_ns, call.enter_ns);
        segments_[i].inside_ns = std::min(
            segments_[i].wall_ns(),
            segments_[i].inside_ns + std::min(share, 1.0) * static_cast<double>(overlap_ns));
      }
    }
  }

  /// Segments of one interval are consecutive.
  template <class Take>
  void each_interval(Take take) {
    for (std::size_t first = 0; first < segments_.size();) {
      std::size_t end = first;
      double wall_ns = 0.0;
      double inside_ns = 0.0;
      for (; end < segments_.size() && segments_[end].interval == segments_[first].interval;
           ++end) {
        wall_ns += segments_[end].wall_ns();
        inside_ns += segments_[end].inside_ns;
      }
      take(first, end, wall_ns, inside_ns);
      first = end;
    }
  }

  CpuSums charged(std::size_t interval) const {
    const CpuReading& first = readings_[interval];
    const CpuReading& last = readings_[interval + 1];
    const auto difference = [](const std::optional<double>& a, const std::optional<double>& b) {
      return a && b ? std::max(0.0, *b - *a) : 0.0;
    };
    return {.wall_ns = 0.0,
            .cpu_ns = std::max(0.0, last.cpu_ns - first.cpu_ns),
            .wait_ns = difference(first.wait_ns, last.wait_ns),
            .switches = difference(first.switches, last.switches)};
  }

  static bool is_outside(double inside_ns) { return inside_ns == 0.0; }
  static bool is_inside(double wall_ns, double inside_ns) {
    return wall_ns - inside_ns <= std::max(kReadingNs, kAlmostNone * wall_ns);
  }

  static bool is_measured(double wall_ns, double inside_ns) {
    return is_outside(inside_ns) || is_inside(wall_ns, inside_ns);
  }

  /// Estimates the part outside of MPI of an interval's charge `all`. usual, other_usual: charge of
  /// the measured intervals outside and inside.
  static double outside_of(double all, double usual, const CpuSums& outside, double other_usual,
                           const CpuSums& inside, double outside_ns, double inside_ns) {
    const double expected = outside.wall_ns > 0 ? outside_ns * usual / outside.wall_ns : 0.0;
    const double other_expected = inside.wall_ns > 0 ? inside_ns * other_usual / inside.wall_ns
                                                     : 0.0;
    if (outside.wall_ns > 0 && inside.wall_ns > 0 && expected + other_expected > 0)
      return all * expected / (expected + other_expected);
    if (outside.wall_ns > 0 && inside.wall_ns <= 0) return expected;
    if (inside.wall_ns > 0 && outside.wall_ns <= 0) return all - other_expected;
    return all * outside_ns / std::max(outside_ns + inside_ns, 1.0);
  }

  static double between(double value, double least, double most) {
    return std::clamp(value, least, std::max(least, most));
  }

  /// Divides an interval's charge between outside and inside. CPU time plus waiting time of a part
  /// never exceeds the length of the part.
  static SplitSums split(const CpuSums& all, const SplitSums& usual, double outside_ns,
                         double inside_ns) {
    const auto estimate = [&](double CpuSums::*what) {
      return outside_of(all.*what, usual.outside.*what, usual.outside, usual.inside.*what,
                        usual.inside, outside_ns, inside_ns);
    };
    const double cpu_ns = between(estimate(&CpuSums::cpu_ns), std::max(0.0, all.cpu_ns - inside_ns),
                                  std::min(all.cpu_ns, outside_ns));
    const double space_inside_ns = std::max(0.0, inside_ns - (all.cpu_ns - cpu_ns));
    const double wait_ns = between(estimate(&CpuSums::wait_ns),
                                   std::max(0.0, all.wait_ns - space_inside_ns),
                                   std::min(all.wait_ns, std::max(0.0, outside_ns - cpu_ns)));
    const double switches = between(estimate(&CpuSums::switches), 0.0, all.switches);
    return {{outside_ns, cpu_ns, wait_ns, switches},
            {inside_ns, all.cpu_ns - cpu_ns, all.wait_ns - wait_ns, all.switches - switches}};
  }

  /// The sums of an interval, divided between outside and inside.
  static SplitSums divided(CpuSums all, const SplitSums& usual, double wall_ns, double inside_ns) {
    all.wall_ns = wall_ns;
    if (is_outside(inside_ns)) return {all, {}};
    if (is_inside(wall_ns, inside_ns)) return {{}, all};
    return split(all, usual, wall_ns - inside_ns, inside_ns);
  }

  static CpuSums scaled(const CpuSums& sums, double factor) {
    return {sums.wall_ns * factor, sums.cpu_ns * factor, sums.wait_ns * factor,
            sums.switches * factor};
  }

  void divide(std::size_t step_count) {
    SplitSums usual;  // of intervals that are entirely outside or inside
    double measured_ns = 0.0;
    double all_ns = 0.0;
    each_interval([&](std::size_t first, std::size_t, double wall_ns, double inside_ns) {
      CpuSums sums = charged(segments_[first].interval);
      sums.wall_ns = wall_ns;
      all_ns += wall_ns;
      if (!is_measured(wall_ns, inside_ns)) return;
      measured_ns += wall_ns;
      (is_outside(inside_ns) ? usual.outside : usual.inside).add(sums);
    });
    result_.measured = usual;
    result_.measured_share = all_ns > 0 ? measured_ns / all_ns : 0.0;
    result_.steps.resize(step_count);
    double split_ns = 0.0;
    double in_steps_ns = 0.0;
    each_interval([&](std::size_t first, std::size_t end, double wall_ns, double inside_ns) {
      const SplitSums sums = divided(charged(segments_[first].interval), usual, wall_ns, inside_ns);
      result_.whole.add(sums);
      for (std::size_t i = first; i < end; ++i) {
        const Segment& segment = segments_[i];
        if (segment.step == kNoStep) continue;
        in_steps_ns += segment.wall_ns();
        if (end - first > 1) split_ns += segment.wall_ns();
        result_.steps[segment.step].add(part(sums, segment, wall_ns - inside_ns, inside_ns));
      }
    });
    result_.interpolated_share = in_steps_ns > 0 ? split_ns / in_steps_ns : 0.0;
  }

  /// The segment's part of an interval's sums, in proportion to time.
  static SplitSums part(const SplitSums& sums, const Segment& segment, double outside_ns,
                        double inside_ns) {
    if (sums.outside.wall_ns == 0)
      return {{}, scaled(sums.inside, segment.wall_ns() / sums.inside.wall_ns)};
    const double out = outside_ns > 0 ? (segment.wall_ns() - segment.inside_ns) / outside_ns : 0.0;
    const double in = inside_ns > 0 ? segment.inside_ns / inside_ns : 0.0;
    return {scaled(sums.outside, out), scaled(sums.inside, in)};
  }

  const RecordSource& source_;
  LocationId location_ = 0;
  RankCpu result_;
  std::vector<CpuReading> readings_;
  std::vector<Segment> segments_;
};

}  // namespace

std::vector<RankCpu> cpu_times(const RecordSource& source,
                               const std::vector<detect::StepTimes>& steps, unsigned jobs) {
  const std::vector<std::int32_t>& ranks = source.world_ranks();
  std::vector<RankCpu> all(ranks.size());
  analysis::for_each_index(ranks.size(), jobs, [&](std::size_t i) {
    RankTimes times(source, ranks[i]);
    if (times.has_readings()) times.divide(i < steps.size() ? steps[i] : detect::StepTimes{});
    all[i] = times.take();
  });
  return all;
}

std::vector<RankCpu> cpu_sums(const RecordSource& source) {
  std::vector<RankCpu> all;
  for (const std::int32_t rank : source.world_ranks()) {
    RankTimes times(source, rank);
    if (times.has_readings()) times.add_up();
    all.push_back(times.take());
  }
  return all;
}

}  // namespace megascope::cpu
