#include "analysis/align/clock_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace megascope::analysis {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

/// Among equal bounds the earliest is kept, so that the result does not depend on the order of
/// calls.
void ClockBounds::add_min(std::uint64_t time_ns, double shift_ns) {
  Bound& bound = part_of(time_ns).least;
  const auto time = static_cast<double>(time_ns);
  const bool is_tighter = shift_ns > bound.shift_ns ||
                          (shift_ns == bound.shift_ns && time < bound.time_ns);
  if (!bound.is_set || is_tighter) bound = {time, shift_ns, true};
}

void ClockBounds::add_max(std::uint64_t time_ns, double shift_ns) {
  Bound& bound = part_of(time_ns).most;
  const auto time = static_cast<double>(time_ns);
  const bool is_tighter = shift_ns < bound.shift_ns ||
                          (shift_ns == bound.shift_ns && time < bound.time_ns);
  if (!bound.is_set || is_tighter) bound = {time, shift_ns, true};
}

void ClockBounds::merge(const ClockBounds& other) {
  for (const auto& [index, part] : other.parts_) {
    if (part.least.is_set)
      add_min(static_cast<std::uint64_t>(part.least.time_ns), part.least.shift_ns);
    if (part.most.is_set)
      add_max(static_cast<std::uint64_t>(part.most.time_ns), part.most.shift_ns);
  }
}

double ClockBounds::contradiction_ns(const ClockLine& line, double part) const {
  double worst_ns = 0.0;
  for (const auto& [index, bounds] : parts_) {
    if (bounds.least.is_set)
      worst_ns = std::max(worst_ns, bounds.least.shift_ns - part * line.at(bounds.least.time_ns));
    if (bounds.most.is_set)
      worst_ns = std::max(worst_ns, part * line.at(bounds.most.time_ns) - bounds.most.shift_ns);
  }
  return worst_ns;
}

ClockBounds::Slack ClockBounds::slack_at(double rate) const {
  Slack slack{-kInfinite, kInfinite};
  for (const auto& [index, part] : parts_) {
    if (part.least.is_set)
      slack.min_ns = std::max(slack.min_ns, part.least.shift_ns - rate * part.least.time_ns);
    if (part.most.is_set)
      slack.max_ns = std::min(slack.max_ns, part.most.shift_ns - rate * part.most.time_ns);
  }
  return slack;
}

/// Rate with the largest distance between the bounds, by ternary search: the distance is a concave
/// function of the rate.
double ClockBounds::best_rate() const {
  double low = -kMaxRate;
  double high = kMaxRate;
  for (int i = 0; i < 100; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (slack_at(a).width_ns() < slack_at(b).width_ns())
      low = a;
    else
      high = b;
  }
  return (low + high) / 2;
}

/// The interval of rates around `best` at which the distance between the bounds is at least
/// width_ns.
ClockBounds::Rates ClockBounds::rates_with(double width_ns, double best) const {
  const auto edge = [&](double outside) {
    if (slack_at(outside).width_ns() >= width_ns) return outside;
    double inside = best;
    for (int i = 0; i < 60; ++i) {
      const double rate = (inside + outside) / 2;
      (slack_at(rate).width_ns() >= width_ns ? inside : outside) = rate;
    }
    return inside;
  };
  return {edge(-kMaxRate), edge(kMaxRate)};
}

/// Largest difference between `line` and a line that satisfies the bounds, at the start or end of
/// the run.
double ClockBounds::farthest_ns(const ClockLine& line, const Rates& rates) const {
  constexpr int kSteps = 64;
  double farthest = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const double rate = rates.low + (rates.high - rates.low) * i / kSteps;
    const Slack slack = slack_at(rate);
    for (const double at_zero : {slack.min_ns, slack.max_ns}) {
      farthest = std::max({farthest, std::fabs(at_zero - line.at_zero_ns),
                           std::fabs(at_zero + rate * length_ns_ - line.at(length_ns_))});
    }
  }
  return farthest;
}

ClockLine ClockBounds::middle() const {
  ClockLine line;
  line.is_bounded = std::isfinite(slack_at(0.0).width_ns());
  if (!line.is_bounded) return line;
  const double best = best_rate();
  const double max_ns = slack_at(best).width_ns();  // < 0: no line satisfies all bounds
  const Rates loose = rates_with(max_ns > 0.0 ? max_ns / 2 : max_ns, best);
  line.rate = std::clamp(0.0, std::min(loose.low, loose.high), std::max(loose.low, loose.high));
  const Slack slack = slack_at(line.rate);
  line.at_zero_ns = (slack.min_ns + slack.max_ns) / 2;
  line.error_ns = std::max(0.0, -max_ns) +
                  farthest_ns(line, max_ns > 0.0 ? rates_with(0.0, best) : loose);
  return line;
}

/// The lines that satisfy the bounds are a convex set. The multiples of middle() enter it once, so
/// that bisection finds the smallest.
ClockLine ClockBounds::nearest() const {
  ClockLine line = middle();
  if (!line.is_bounded) return line;
  double low = 0.0;
  double high = contradiction_ns(line, 0.0) > 0.0 ? 1.0 : 0.0;
  for (int i = 0; i < 60 && high > 0.0; ++i) {
    const double part = (low + high) / 2;
    (contradiction_ns(line, part) > 0.0 ? low : high) = part;
  }
  line.error_ns += (1.0 - high) * std::max(std::fabs(line.at(0.0)), std::fabs(line.at(length_ns_)));
  line.at_zero_ns *= high;
  line.rate *= high;
  return line;
}

}  // namespace megascope::analysis
