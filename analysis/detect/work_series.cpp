#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "analysis/detect/statistics.h"
#include "analysis/detect/work_judge.h"

namespace megascope::detect {
namespace {

constexpr double kUsual = 1.0 / 3.0;    ///< quantile of a class that stands for it: up to two thirds may be slow
constexpr double kLeastNoise = 2e-4;
constexpr double kHeavyPart = 0.03;     ///< of the step's work: lighter parts say nothing of a factor
constexpr std::size_t kLeastParts = 4;  ///< of them, to tell a pause from slow work
constexpr std::size_t kTrimmed = 2;     ///< parts left out at either end

using Parts = std::array<double, kParts>;

double total(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

/// What the parts of a step usually take: in the class at that step, or in a class of one over all steps.
std::vector<Parts> usual_parts(const Reduced& reduced, const std::vector<std::size_t>& members) {
  std::vector<Parts> usual(reduced.step_count);
  std::vector<double> values;
  const bool is_alone = members.size() == 1;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (is_alone) {
      values.clear();
      for (std::size_t step = 0; step < reduced.step_count; ++step) values.push_back(reduced.ranks[members[0]].steps[step].work_ns[part]);
      const double middle = median(values);
      for (Parts& parts : usual) parts[part] = middle;
      continue;
    }
    for (std::size_t step = 0; step < reduced.step_count; ++step) {
      values.clear();
      for (const std::size_t rank : members) values.push_back(reduced.ranks[rank].steps[step].work_ns[part]);
      usual[step][part] = quantile(values, kUsual);
    }
  }
  return usual;
}

/// One rank's step against the usual.
struct Compared {
  double log_factor = 0.0;
  double stall = 0.0;
  double part_noise = 0.0;   ///< mean square of the parts' own log factors
  std::size_t parts = 0;
};

Compared compare_step(const std::array<float, kParts>& work, const Parts& usual) {
  Compared result;
  const double all = total(usual);
  std::array<std::size_t, kParts> order{};
  for (std::size_t part = 0; part < kParts; ++part) {
    if (usual[part] > kHeavyPart * all && work[part] > 0.0F) order[result.parts++] = part;
  }
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  if (result.parts == 0 || sum <= 0.0) return result;
  if (result.parts < kLeastParts) {
    result.log_factor = std::log(sum / all);
    return result;
  }
  const auto heavy = std::span(order).first(result.parts);
  const auto ratio = [&](std::size_t part) { return work[part] / usual[part]; };
  std::sort(heavy.begin(), heavy.end(), [&](std::size_t a, std::size_t b) { return ratio(a) < ratio(b); });
  const std::size_t trimmed = std::min(kTrimmed, (heavy.size() - 2) / 2);
  double time = 0.0;
  double expected = 0.0;
  for (const std::size_t part : heavy.subspan(trimmed, heavy.size() - 2 * trimmed)) {
    time += work[part];
    expected += usual[part];
  }
  result.log_factor = std::log(time / expected);
  for (const std::size_t part : heavy.subspan(trimmed, heavy.size() - 2 * trimmed)) {
    const double off = std::log(ratio(part)) - result.log_factor;
    result.part_noise += off * off;
  }
  const double factor = time / expected;
  const std::size_t worst = heavy.back();
  result.stall = std::max(0.0, (work[worst] - factor * usual[worst]) / all);
  return result;
}

/// Spread around each rank's own median, of all ranks of a class.
double class_noise_of(const std::vector<std::vector<double>>& excess, const std::vector<std::size_t>& members) {
  std::vector<double> off;
  for (const std::size_t rank : members) {
    std::vector<double> values = excess[rank];
    const double middle = median(values);
    for (const double value : excess[rank]) off.push_back(value - middle);
  }
  return spread(std::move(off));
}

/// A rank's own noise, from the lower half of its values: what slows it down in some steps does not count.
double own_noise_of(std::vector<double> values) {
  const double middle = median(values);
  return 0.75 * (middle - quantile(values, 0.16));
}

void compare_class(const Reduced& reduced, const std::vector<std::size_t>& members, WorkSeries& work) {
  const std::vector<Parts> usual = usual_parts(reduced, members);
  std::vector<double> values;
  double squares = 0.0;
  double count = 0.0;
  double parts = 1.0;
  for (const std::size_t rank : members) {
    for (std::size_t step = 0; step < reduced.step_count; ++step) {
      const Compared one = compare_step(reduced.ranks[rank].steps[step].work_ns, usual[step]);
      work.excess[rank][step] = one.log_factor;
      work.stall[rank][step] = one.stall;
      squares += one.part_noise;
      count += one.parts < kLeastParts ? 0.0 : static_cast<double>(one.parts - 2 * kTrimmed);
      parts = std::max(parts, static_cast<double>(one.parts));
    }
  }
  std::vector<double>& level = work.class_level.emplace_back();
  for (std::size_t step = 0; step < reduced.step_count; ++step) {
    values.clear();
    for (const std::size_t rank : members) values.push_back(work.excess[rank][step]);
    const double centre = quantile(values, kUsual);
    level.push_back(std::log(std::max(total(usual[step]), 1.0)) + centre);
    for (const std::size_t rank : members) work.excess[rank][step] -= centre;
  }
  const double pooled = members.size() > 1 ? class_noise_of(work.excess, members) : 0.0;
  for (const std::size_t rank : members) {
    work.noise[rank] = std::max({pooled, own_noise_of(work.excess[rank]), kLeastNoise});
    // The middle parts vary by about 0.6 of what all do.
    work.independent[rank] = count > 0.0 ? std::sqrt(squares / count) / 0.6 / std::sqrt(parts) : work.noise[rank];
  }
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
  // What is common to all classes in a step is no class's noise.
  std::vector<double> middles;
  for (auto level : work.class_level) middles.push_back(median(level));
  std::vector<double> values;
  std::vector<double> common(reduced.step_count, 0.0);
  for (std::size_t step = 0; step < reduced.step_count && peers.classes.size() > 2; ++step) {
    values.clear();
    for (std::size_t i = 0; i < middles.size(); ++i) values.push_back(work.class_level[i][step] - middles[i]);
    common[step] = median(values);
  }
  for (std::vector<double>& level : work.class_level) {
    for (std::size_t step = 0; step < level.size(); ++step) level[step] -= common[step];
    work.class_noise.push_back(std::max(noise_of(level), kLeastNoise));
  }
  return work;
}

}  // namespace megascope::detect
