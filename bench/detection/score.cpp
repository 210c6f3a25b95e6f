#include "bench/detection/score.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace megascope::bench {
namespace {

std::string list(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < 6; ++i)
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
  return ranks.size() > 6 ? text + ",.. (" + std::to_string(ranks.size()) + ")" : text;
}

}  // namespace

void Score::add(const Score& other) {
  runs += other.runs;
  accused_runs += other.accused_runs;
  truths += other.truths;
  found += other.found;
  wrong += other.wrong;
  cause_right += other.cause_right;
  onset_right += other.onset_right;
  factor_right += other.factor_right;
}

Score score_run(const std::vector<synth::TrueRootCause>& truth,
                const std::vector<detect::RootCause>& answer) {
  Score score{.runs = 1, .truths = truth.size()};
  std::vector<bool> is_used(answer.size(), false);
  for (const synth::TrueRootCause& root_cause : truth) {
    std::size_t best = answer.size();
    for (std::size_t i = 0; i < answer.size(); ++i) {
      if (is_used[i] || answer[i].ranks != root_cause.ranks) continue;
      const bool has_cause = detect::name_of(answer[i].cause) == synth::name_of(root_cause.kind);
      if (best == answer.size() || has_cause) best = i;
    }
    if (best == answer.size()) continue;
    is_used[best] = true;
    ++score.found;
    score.cause_right += detect::name_of(answer[best].cause) == synth::name_of(root_cause.kind) ? 1
                                                                                                : 0;
    score.onset_right += std::abs(answer[best].onset_step - root_cause.onset_step) <= 1 ? 1 : 0;
    const double ratio = (answer[best].factor - 1.0) / (root_cause.factor - 1.0);
    score.factor_right += ratio >= 0.8 && ratio <= 1.2 ? 1 : 0;
  }
  score.wrong = static_cast<std::uint64_t>(std::count(is_used.begin(), is_used.end(), false));
  score.accused_runs = score.wrong != 0 ? 1 : 0;
  return score;
}

Bounds bounds_of(std::uint64_t hits, std::uint64_t count) {
  if (count == 0) return {};
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(hits) / n;
  const double centre = (share + kZ * kZ / (2.0 * n)) / (1.0 + kZ * kZ / n);
  const double half = kZ / (1.0 + kZ * kZ / n) *
                      std::sqrt(share * (1.0 - share) / n + kZ * kZ / (4.0 * n * n));
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::string text_of(const synth::TrueRootCause& root_cause) {
  char text[128];
  std::snprintf(text, sizeof text, " x%.3f steps %d-%d", root_cause.factor, root_cause.onset_step,
                root_cause.last_step);
  return synth::name_of(root_cause.kind) + " " + list(root_cause.ranks) + text;
}

std::string text_of(const detect::RootCause& root_cause) {
  char text[128];
  std::snprintf(text, sizeof text, " x%.3f steps %d-%d (%d active)", root_cause.factor,
                root_cause.onset_step, root_cause.last_step, root_cause.active_steps);
  return detect::name_of(root_cause.cause) + " " + list(root_cause.ranks) + text;
}

}  // namespace megascope::bench
