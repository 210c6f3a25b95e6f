#include "analysis/segments/together.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>

namespace megascope::segments {
namespace {

using detect::median;
using detect::quantile;

constexpr std::size_t
    kMinOfStep = 4;  ///< executions a step, on average, to use a constant offset for each step

/// One past the last execution of the step that begins at `first`.
std::size_t end_of_step(Executions of, std::size_t first) {
  std::size_t end = first;
  while (end < of.size() && of[end].step == of[first].step) ++end;
  return end;
}

/// Returns, by member, its deviations from the mean of all members in the instances [first, last).
std::vector<std::vector<double>> deviations(const std::vector<std::vector<Execution>>& members,
                                            std::size_t first, std::size_t last, bool of_end) {
  std::vector<std::vector<double>> result(members.size());
  for (std::size_t i = first; i < last; ++i) {
    const auto origin_ns = static_cast<std::int64_t>(members[0][i].begin_ns);
    const auto time_of = [&](const std::vector<Execution>& member) {
      return static_cast<double>(
          static_cast<std::int64_t>(of_end ? member[i].end_ns : member[i].begin_ns) - origin_ns);
    };
    double mean = 0.0;
    for (const auto& member : members)
      mean += time_of(member) / static_cast<double>(members.size());
    for (std::size_t m = 0; m < members.size(); ++m)
      result[m].push_back(time_of(members[m]) - mean);
  }
  return result;
}

struct Samples {
  std::vector<double> begins;
  std::vector<double> varying_begins;
  std::vector<double> ends;
  std::vector<double> raw_ends;
  std::vector<double> constants;
};

void add_block(const std::vector<std::vector<Execution>>& members, std::size_t first,
               std::size_t last, Apart& apart, Samples& samples) {
  const auto end_deviations = deviations(members, first, last, true);
  const auto begin_deviations = deviations(members, first, last, false);
  std::vector<double> worst(last - first, 0.0);
  std::vector<double> raw_end(last - first, 0.0);
  std::vector<double> varying_begin(last - first, 0.0);
  for (std::size_t m = 0; m < members.size(); ++m) {
    std::vector<double> values = end_deviations[m];
    const double constant = median(values);
    std::vector<double> begins = begin_deviations[m];
    const double usual_begin = median(begins);
    samples.constants.push_back(std::fabs(constant));
    for (std::size_t i = 0; i < last - first; ++i) {
      samples.raw_ends.push_back(std::fabs(end_deviations[m][i]));
      samples.ends.push_back(std::fabs(end_deviations[m][i] - constant));
      samples.begins.push_back(std::fabs(begin_deviations[m][i] - constant));
      samples.varying_begins.push_back(std::fabs(begin_deviations[m][i] - usual_begin));
      worst[i] = std::max(worst[i], samples.ends.back());
      raw_end[i] = std::max(raw_end[i], samples.raw_ends.back());
      varying_begin[i] = std::max(varying_begin[i], samples.varying_begins.back());
    }
  }
  const auto append = [](const std::vector<double>& values, std::vector<double>& all) {
    all.insert(all.end(), values.begin(), values.end());
  };
  append(worst, apart.worst_end_ns);
  append(raw_end, apart.raw_worst_end_ns);
  append(varying_begin, apart.worst_varying_begin_ns);
}

}  // namespace

std::vector<std::vector<Execution>> common_executions(std::span<const Executions> members) {
  std::vector<std::vector<Execution>> common(members.size());
  std::vector<std::size_t> at(members.size(), 0);
  const auto any_of = [&](auto&& is_so) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (is_so(m)) return true;
    }
    return false;
  };
  while (!members.empty() && !any_of([&](std::size_t m) { return at[m] == members[m].size(); })) {
    std::int64_t latest = members[0][at[0]].step;
    for (std::size_t m = 0; m < members.size(); ++m)
      latest = std::max(latest, members[m][at[m]].step);
    const bool is_missing = any_of([&](std::size_t m) { return members[m][at[m]].step != latest; });
    const std::size_t count = end_of_step(members[0], at[0]) - at[0];
    const bool is_common = !is_missing && !any_of([&](std::size_t m) {
      return end_of_step(members[m], at[m]) - at[m] != count;
    });
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (is_missing && members[m][at[m]].step == latest) continue;
      const std::size_t end = end_of_step(members[m], at[m]);
      for (std::size_t i = at[m]; is_common && i < end; ++i) common[m].push_back(members[m][i]);
      at[m] = end;
    }
  }
  return common;
}

Apart distances(const std::vector<std::vector<Execution>>& members) {
  Apart apart;
  apart.instances = members.empty() ? 0 : members[0].size();
  if (apart.instances == 0 || members.size() < 2) return apart;
  Samples samples;
  const Executions first_member = members[0];
  const std::size_t step_count = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < apart.instances; i = end_of_step(first_member, i)) ++count;
    return count;
  }();
  if (apart.instances < kMinOfStep * step_count) {
    add_block(members, 0, apart.instances, apart, samples);
  } else {
    for (std::size_t i = 0; i < apart.instances;) {
      const std::size_t end = end_of_step(first_member, i);
      add_block(members, i, end, apart, samples);
      i = end;
    }
  }
  apart.begin_ns = median(samples.begins);
  apart.varying_begin_ns = median(samples.varying_begins);
  apart.end_ns = median(samples.ends);
  apart.constant_ns = quantile(samples.constants, 0.9);
  apart.raw_end_ns = quantile(samples.raw_ends, 0.9);
  return apart;
}

bool is_at_once(const Apart& apart, std::size_t instance) {
  constexpr double kAtOnce = 0.05;  ///< times the distance of the begins
  return apart.raw_worst_end_ns[instance] <= kAtOnce * apart.worst_varying_begin_ns[instance];
}

double independent_ns(std::span<const std::vector<Executions>> pairs) {
  std::vector<double> off;
  for (const std::vector<Executions>& pair : pairs) {
    const auto common = common_executions(pair);
    std::vector<double> differences;
    for (std::size_t i = 0; i < common[0].size(); ++i)
      differences.push_back(common[0][i].duration_ns() - common[1][i].duration_ns());
    std::vector<double> sorted = differences;
    const double middle = median(sorted);
    for (const double difference : differences) off.push_back(std::fabs(difference - middle));
  }
  return median(off);
}

double own_variation_ns(std::span<const Executions> members) {
  std::vector<double> off;
  for (const Executions& of : members) {
    std::vector<double> durations;
    for (const Execution& execution : of) durations.push_back(execution.duration_ns());
    const double middle = median(durations);
    for (const Execution& execution : of)
      off.push_back(std::fabs(execution.duration_ns() - middle));
  }
  return median(off);
}

}  // namespace megascope::segments
