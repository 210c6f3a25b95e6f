#include "analysis/advice/words.h"

#include "core/base/text.h"

#include <cstdio>

namespace megascope::advice {

std::string percent(double fraction) {
  char text[32];
  const double value = 100.0 * fraction;
  std::snprintf(text, sizeof text,
                value >= 10.0  ? "%.0f %%"
                : value >= 1.0 ? "%.1f %%"
                               : "%.2f %%",
                value);
  return text;
}

std::string call_site_text(const Facts& facts, std::uint32_t function, std::uint32_t comm,
                           std::uint32_t site) {
  std::string text;
  if (function != kNoIndex) text = "in " + facts.functions[function];
  if (site != kNoIndex) return text + " at " + facts.sites[site];
  if (comm != kNoIndex) text += (text.empty() ? "on " : " on ") + facts.comms[comm].name;
  return text;
}

std::string ranks_text(const Facts& facts, const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxRuns = 4;
  if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
  if (ranks.size() == facts.ranks.size()) return "all " + std::to_string(ranks.size()) + " ranks";
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    runs.push_back(std::to_string(ranks[i]) +
                   (end - i > 1 ? "-" + std::to_string(ranks[end - 1]) : ""));
    i = end;
  }
  return runs.size() <= kMaxRuns ? "ranks " + joined(runs, ", ")
                                 : std::to_string(ranks.size()) + " ranks";
}

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }

double share_of(const Facts& facts, double time_ns) {
  return facts.wall_ns == 0 ? 0.0 : time_ns / static_cast<double>(facts.wall_ns);
}

}  // namespace megascope::advice
