#include "analysis/detect/statistics.h"
#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace megascope::detect {
namespace {

constexpr double kMinNoise = 2e-4;    ///< lower bound of the standard deviation of a log factor
constexpr double kHeavyPart = 0.03;   ///< fraction of the step's work; the factor of a lighter part
                                      ///< is not used
constexpr std::size_t kMinParts = 4;  ///< such parts that distinguish a pause from slow work
constexpr std::size_t kMinPeers = 4;  ///< members of a class from which the usual work of a single
                                      ///< step is estimated
constexpr std::size_t kTrimmed = 2;   ///< fastest, and slowest, parts that are ignored
constexpr std::size_t kMinUsual = 2;  ///< of kUnusualOf steps must have the usual number of calls,
                                      ///< or the others are compared as well
constexpr std::size_t kUnusualOf = 3;
constexpr double
    kMaxLeap = 2.5;  ///< standard deviations to which a change of a class's level is clipped
constexpr double kMinSquares = 1e-30;  ///< avoids a division by 0
constexpr double kMinCount = 4.0;      ///< lower bound of `count` in widened_by_chance()
constexpr double kChanceMargin = 1.5;  ///< standard errors by which an estimated deviation may be
                                       ///< too small

using Parts = std::array<double, kParts>;

double total(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

/// The usual work of a step, in ns: of each part, and of the whole step.
struct Usual {
  Parts parts{};
  double sum = 0.0;
};

/// Returns the usual work of these ranks in one step.
Usual usual_of(const Reduced& reduced, const std::vector<std::size_t>& ranks, std::size_t step) {
  Usual usual;
  std::vector<double> values;
  for (std::size_t part = 0; part < kParts; ++part) {
    values.clear();
    for (const std::size_t rank : ranks)
      values.push_back(reduced.ranks[rank].steps[step].work_ns[part]);
    usual.parts[part] = quantile(values, kUsual);
  }
  values.clear();
  for (const std::size_t rank : ranks) values.push_back(reduced.ranks[rank].work_ns(step));
  usual.sum = quantile(values, kUsual);
  return usual;
}

/// Returns the usual work of a small class over all steps: of two members, one may be slow.
Usual usual_of_all_steps(const Reduced& reduced, const std::vector<std::size_t>& members) {
  Usual usual;
  std::vector<double> values;
  for (std::size_t part = 0; part < kParts; ++part) {
    values.clear();
    for (const std::size_t rank : members) {
      for (std::size_t step = 0; step < reduced.step_count; ++step)
        values.push_back(reduced.ranks[rank].steps[step].work_ns[part]);
    }
    usual.parts[part] = quantile(values, kUsual);
  }
  usual.sum = total(usual.parts);
  return usual;
}

/// A rank's step compared with the usual work.
struct Compared {
  double log_factor = 0.0;
  double stall = 0.0;       ///< WorkSeries::stall
  double part_noise = 0.0;  ///< standard deviation of one part's log factor
  std::size_t parts = 0;    ///< heavy parts; 0: not compared by parts
};

/// Compares part by part. For steps whose parts contain the same work as the usual parts.
Compared compare_parts(const std::array<float, kParts>& work, const Parts& usual) {
  Compared result;
  const double all = total(usual);
  std::array<std::size_t, kParts> order{};
  for (std::size_t part = 0; part < kParts; ++part) {
    if (usual[part] > kHeavyPart * all && work[part] > 0.0F) order[result.parts++] = part;
  }
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  if (result.parts == 0 || sum <= 0.0) return result;
  if (result.parts < kMinParts) {
    result.log_factor = std::log(sum / all);
    return result;
  }
  const auto heavy = std::span(order).first(result.parts);
  const auto ratio = [&](std::size_t part) { return work[part] / usual[part]; };
  std::sort(heavy.begin(), heavy.end(),
            [&](std::size_t a, std::size_t b) { return ratio(a) < ratio(b); });
  const std::size_t trimmed = std::min(kTrimmed, (heavy.size() - 2) / 2);
  double time = 0.0;
  double expected = 0.0;
  for (const std::size_t part : heavy.subspan(trimmed, heavy.size() - 2 * trimmed)) {
    time += work[part];
    expected += usual[part];
  }
  result.log_factor = std::log(time / expected);
  constexpr double kRange[] = {0.594, 0.990, 1.283, 1.514,
                               1.704};  // expected distance, in standard deviations, of the second
                                        // smallest and second largest of 4 … 8 normal values
  result.part_noise = std::log(ratio(heavy[heavy.size() - 2]) / ratio(heavy[1])) /
                      kRange[heavy.size() - kMinParts];
  const double factor = time / expected;
  const std::size_t worst = heavy.back();
  result.stall = std::max(0.0, (work[worst] / factor - usual[worst]) / all);
  return result;
}

/// Compares the whole step. For steps whose parts do not contain the same work.
Compared compare_sum(const std::array<float, kParts>& work, double usual) {
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return {.log_factor = sum > 0.0 && usual > 0.0 ? std::log(sum / usual) : 0.0};
}

/// Returns the spread around each rank's own median, of the half of a class that varies least: the
/// work of the others may be uneven.
double noise_of_quiet(const std::vector<std::vector<double>>& excess,
                      const std::vector<std::size_t>& members) {
  constexpr double kChosen = 1.15;  // corrects for the choice of the half that varies least
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::size_t rank : members) order.emplace_back(spread(excess[rank]), rank);
  std::sort(order.begin(), order.end());
  std::vector<double> off;
  for (std::size_t i = 0; i < (order.size() + 1) / 2; ++i) {
    const std::vector<double>& series = excess[order[i].second];
    std::vector<double> values = series;
    const double middle = median(values);
    for (const double value : series) off.push_back(value - middle);
  }
  return kChosen * spread(std::move(off));
}

/// Subtracts the usual log factor of the class in a step, and adds it to its level. In a class of
/// two ranks, each is compared with the other.
void centre(const std::vector<std::size_t>& members, std::size_t step, WorkSeries& work,
            std::vector<double>& level) {
  std::vector<double> values;
  for (const std::size_t rank : members) values.push_back(work.excess[rank][step]);
  const double usual = quantile(values, kUsual);
  level[step] += usual;
  if (members.size() == 2) {
    const double difference = work.excess[members[0]][step] - work.excess[members[1]][step];
    work.excess[members[0]][step] = difference;
    work.excess[members[1]][step] = -difference;
    return;
  }
  for (const std::size_t rank : members) work.excess[rank][step] -= usual;
}

/// Returns the standard deviation of a series around 0, from its values below 0: values above may
/// be slow.
double noise_below(std::vector<double> series) {
  return std::max(0.0, -quantile(series, kOneBelow));
}

/// Returns the factor by which a standard deviation that was estimated from `count` values may be
/// too small. Its relative standard error is 1 / √(2 count).
double widened_by_chance(double count) {
  return 1.0 + kChanceMargin / std::sqrt(2.0 * std::max(count, kMinCount));
}

/// Sets the noise of the ranks of a class, and the noise if the parts of a step were independent.
/// part_noise: standard deviation of the middle parts; 0: there are too few parts.
void set_noise(const std::vector<std::size_t>& members, double part_noise, double parts,
               WorkSeries& work) {
  constexpr double
      kTrimmedNoise = 1.1;  // noise of the mean of the middle parts, over that of all parts
  constexpr double kUnknownNoise = 1.8;  // margin if there are too few parts to distinguish uneven
                                         // work from pauses
  constexpr double kEfficiency = 0.4;    // statistical efficiency of a spread by medians
  const bool is_pair = members.size() == 2;
  const double independent = kTrimmedNoise * part_noise / std::sqrt(parts);
  std::vector<double> own;
  for (const std::size_t rank : members) own.push_back(noise_of(work.excess[rank]));
  const double usual = median(own);
  const auto count = kEfficiency * static_cast<double>(work.excess[members[0]].size() *
                                                       ((members.size() + 1) / 2));
  double shared = is_pair ? (part_noise > 0.0 ? 0.0 : usual) : noise_of_quiet(work.excess, members);
  shared = std::max({shared * widened_by_chance(count),
                     (is_pair ? std::sqrt(2.0) : 1.0) * independent, kMinNoise});
  for (const std::size_t rank : members) {
    work.noise[rank] = std::max(shared, noise_below(work.excess[rank]));
    work.independent[rank] = part_noise > 0.0 ? independent
                                              : std::max(kUnknownNoise * usual, kMinNoise);
  }
}

std::uint32_t usual_calls(const Reduced& reduced, const std::vector<std::size_t>& members,
                          std::size_t first, std::size_t last) {
  std::vector<double> counts;
  for (const std::size_t rank : members) {
    for (std::size_t step = first; step < last; ++step)
      counts.push_back(reduced.ranks[rank].steps[step].call_count);
  }
  return static_cast<std::uint32_t>(median(counts));
}

/// Replaces the values of steps with an unusual number of calls by those of the previous step. A
/// small class is compared with its other steps, whose parts contain different work than such a
/// step's. The first step of a program is often one. Does nothing if there are many.
void leave_out_unusual(const Reduced& reduced, const std::vector<std::size_t>& members,
                       WorkSeries& work) {
  const std::uint32_t usual = usual_calls(reduced, members, 0, reduced.step_count);
  for (const std::size_t rank : members) {
    std::vector<double> others;
    const auto is_unusual = [&](std::size_t step) {
      return reduced.ranks[rank].steps[step].call_count != usual;
    };
    for (std::size_t step = 0; step < reduced.step_count; ++step) {
      if (!is_unusual(step)) others.push_back(work.excess[rank][step]);
    }
    if (kUnusualOf * others.size() < kMinUsual * reduced.step_count) continue;
    const double middle = median(others);
    for (std::size_t step = 0; step < reduced.step_count; ++step) {
      if (!is_unusual(step)) continue;
      work.excess[rank][step] = step > 0         ? work.excess[rank][step - 1]
                                : others.empty() ? 0.0
                                                 : middle;
      work.stall[rank][step] = 0.0;
    }
    if (is_unusual(0) && reduced.step_count > 1) work.excess[rank][0] = work.excess[rank][1];
  }
}

/// Number of calls of a step, and the usual sequence of calls of its rank. Steps of equal layouts
/// have the same work in the same parts.
using Layout = std::pair<std::uint32_t, std::uint64_t>;

Layout layout_of(const RankSteps& rank, std::size_t step) {
  return {rank.steps[step].call_count, rank.sequence};
}

/// Compares one step of each member with the members whose step has the same layout; if these are
/// fewer than kMinPeers, with the whole step of all members.
class StepComparison {
 public:
  StepComparison(const Reduced& reduced, const std::vector<std::size_t>& members, std::size_t step)
      : reduced_(reduced), step_(step), all_(usual_of(reduced, members, step)) {
    std::map<Layout, std::vector<std::size_t>> ranks;
    for (const std::size_t rank : members)
      ranks[layout_of(reduced.ranks[rank], step)].push_back(rank);
    for (const auto& [layout, alike] : ranks) {
      if (alike.size() == members.size())
        usual_.emplace(layout, all_);
      else if (alike.size() >= kMinPeers)
        usual_.emplace(layout, usual_of(reduced, alike, step));
    }
  }

  const Usual& all() const { return all_; }

  Compared compare(std::size_t rank) const {
    const RankSteps& steps = reduced_.ranks[rank];
    const auto& work = steps.steps[step_].work_ns;
    const auto usual = usual_.find(layout_of(steps, step_));
    return usual == usual_.end() ? compare_sum(work, all_.sum)
                                 : compare_parts(work, usual->second.parts);
  }

 private:
  const Reduced& reduced_;
  std::size_t step_;
  Usual all_;
  std::map<Layout, Usual> usual_;  ///< of layouts that enough ranks have
};

void compare_class(const Reduced& reduced, const std::vector<std::size_t>& members,
                   WorkSeries& work) {
  if (members.empty()) {  // a class without groups of this SharedWork
    work.class_level.emplace_back(reduced.step_count, 0.0);
    return;
  }
  const bool is_small = members.size() < kMinPeers;
  const Usual of_all_steps = is_small ? usual_of_all_steps(reduced, members) : Usual{};
  std::vector<double> noises;
  std::vector<double> level;
  double parts = 1.0;
  for (std::size_t step = 0; step < reduced.step_count; ++step) {
    std::optional<StepComparison> comparison;
    if (!is_small) comparison.emplace(reduced, members, step);
    level.push_back(std::log(std::max(is_small ? of_all_steps.sum : comparison->all().sum, 1.0)));
    for (const std::size_t rank : members) {
      const Compared one = is_small ? compare_parts(reduced.ranks[rank].steps[step].work_ns,
                                                    of_all_steps.parts)
                                    : comparison->compare(rank);
      work.excess[rank][step] = one.log_factor;
      work.stall[rank][step] = one.stall;
      if (one.parts < kMinParts) continue;
      noises.push_back(one.part_noise);
      parts = std::max(parts, static_cast<double>(one.parts));
    }
  }
  if (is_small) leave_out_unusual(reduced, members, work);
  for (std::size_t step = 0; step < reduced.step_count; ++step) centre(members, step, work, level);
  work.class_level.push_back(std::move(level));
  set_noise(members, median(noises), parts, work);
}

/// Returns the mean correlation of the classes' changes from step to step. Large changes are
/// clipped.
double correlation_of(const std::vector<std::vector<double>>& levels) {
  std::vector<std::vector<double>> changes;
  for (const std::vector<double>& level : levels) {
    const double most = kMaxLeap * std::max(noise_of_differences(level), kMinNoise);
    std::vector<double>& mine = changes.emplace_back();
    double squares = 0.0;
    for (std::size_t step = 1; step < level.size(); ++step) {
      mine.push_back(std::clamp(level[step] - level[step - 1], -most, most));
      squares += mine.back() * mine.back();
    }
    for (double& change : mine) change /= std::sqrt(std::max(squares, kMinSquares));
  }
  double sum = 0.0;
  for (std::size_t step = 0; step < changes[0].size(); ++step) {
    double all = 0.0;
    double squares = 0.0;
    for (const auto& mine : changes) {
      all += mine[step];
      squares += mine[step] * mine[step];
    }
    sum += all * all - squares;
  }
  const auto count = static_cast<double>(levels.size());
  return sum / (count * (count - 1.0));
}

/// Returns by step the variation that all classes have in common; 0 if their correlation is low.
std::vector<double> common_of(const std::vector<std::vector<double>>& levels,
                              std::size_t step_count) {
  constexpr double kTogether = 0.4;  // mean correlation from which the variation is common
  std::vector<double> common(step_count, 0.0);
  if (levels.size() < 3 || correlation_of(levels) < kTogether) return common;
  std::vector<double> middles;
  for (auto level : levels) middles.push_back(median(level));
  std::vector<double> values;
  for (std::size_t step = 0; step < step_count; ++step) {
    values.clear();
    for (std::size_t i = 0; i < levels.size(); ++i) values.push_back(levels[i][step] - middles[i]);
    common[step] = median(values);
  }
  return common;
}

/// WorkSeries::own_range of a rank.
double own_range_of(const RankSteps& rank) {
  std::vector<double> logs;
  for (std::size_t step = 0; step < rank.steps.size(); ++step)
    logs.push_back(std::log(std::max(rank.work_ns(step), 1.0)));
  return fifth_range(std::move(logs));
}

}  // namespace

WorkSeries compare_work(const Reduced& reduced, const Peers& peers) {
  const std::size_t count = reduced.ranks.size();
  WorkSeries work;
  work.excess.assign(count, std::vector<double>(reduced.step_count, 0.0));
  work.stall = work.excess;
  work.noise.assign(count, 0.0);
  work.independent.assign(count, 0.0);
  for (const auto& members : peers.classes) compare_class(reduced, members, work);
  for (const RankSteps& rank : reduced.ranks) work.own_range.push_back(own_range_of(rank));
  return work;
}

void relate_classes(const Peers& peers, WorkSeries& work) {
  if (work.class_level.empty()) return;
  const std::vector<double> common = common_of(work.class_level, work.class_level[0].size());
  for (std::size_t i = 0; i < peers.classes.size(); ++i) {
    std::vector<double>& level = work.class_level[i];
    for (std::size_t step = 0; step < level.size(); ++step) level[step] -= common[step];
    const double independent = work.independent[peers.classes[i][0]] /
                               std::sqrt(static_cast<double>(peers.classes[i].size()));
    work.class_min_noise.push_back(independent);
    work.class_noise.push_back(std::max({noise_of(level), independent, kMinNoise}));
  }
}

}  // namespace megascope::detect
