#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/cli/analyze/output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

/// Output of the replay with usual durations.
namespace megascope::cli {
namespace {

using whatif::Scenario;
using whatif::WhatIf;

constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kColumns = 100;
constexpr double kWorthReporting = 1.005;

const char* name_of(Scenario::Kind kind) {
  static constexpr const char* kNames[] = {"rank", "group", "operation", "culprit"};
  return kNames[static_cast<std::size_t>(kind)];
}

void add_notes(const WhatIf& what_if, std::vector<std::string>& lines) {
  for (const std::string& limit : what_if.limitations) lines.push_back("  Note: " + limit + ".");
}

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }

/// Returns the scenario of this kind with the largest gain; null: there is none.
const Scenario* largest_of(const WhatIf& what_if, Scenario::Kind kind) {
  const Scenario* largest = nullptr;
  for (const Scenario& scenario : what_if.scenarios) {
    if (scenario.kind == kind && (largest == nullptr || scenario.gain > largest->gain))
      largest = &scenario;
  }
  return largest;
}

/// Returns the rank, or else the parallel group, on which most of the loss occurs, if no rule found
/// a cause for it: for example, it is slow in too few steps. Null: there is none.
const Scenario* most_of_loss(const WhatIf& what_if) {
  constexpr double kMinShare = 0.5;  // of the loss
  constexpr double kSeen = 1.01;     // speedup
  if (!what_if.asked.empty() || what_if.loss.total < kWorthReporting - 1.0) return nullptr;
  for (const Scenario::Kind kind : {Scenario::Kind::kRank, Scenario::Kind::kGroup}) {
    const Scenario* const largest = largest_of(what_if, kind);
    if (largest != nullptr && largest->gain >= kSeen &&
        1.0 - 1.0 / largest->gain >= kMinShare * what_if.loss.total)
      return largest;
  }
  return nullptr;
}

std::string no_cause_text(const WhatIf& what_if) {
  const Scenario* const mostly = most_of_loss(what_if);
  if (mostly == nullptr) return "No cause was found for it.";
  return fmt::format(
      "No cause was found for it, but most of it is lost on {}: without what is slow there the run "
      "would be {:.2f} times as fast. It may be chance.",
      mostly->name, mostly->gain);
}

/// The time lost, and the part of it that the causes explain.
std::string loss_text(const WhatIf& what_if) {
  const std::string steps = fmt::format("a step takes {}, without slow operations {}",
                                        duration(what_if.step_ns), duration(what_if.best_step_ns));
  if (what_if.loss.total < kWorthReporting - 1.0)
    return fmt::format("Slow operations cost less than {} of the run.",
                       percent_text(kWorthReporting - 1.0));
  std::string text = fmt::format("Operations that are slower than usual cost {} of the run: {}",
                                 percent_text(what_if.loss.total), steps);
  if (what_if.asked.empty()) return text + ". " + no_cause_text(what_if);
  const double explained = std::min(1.0, what_if.loss.explained / what_if.loss.total);
  return text + fmt::format(". {} {:.0f} % of that.",
                            what_if.asked.size() == 1 ? "The cause above explains"
                                                      : "The causes above explain",
                            100.0 * explained);
}

}  // namespace

std::vector<std::string> what_if_lines(const WhatIf& what_if) {
  std::vector<std::string> lines;
  if (!what_if.is_there()) {
    if (!what_if.limitations.empty())
      lines.insert(lines.end(), {"", "How much faster the run would have been:"});
    add_notes(what_if, lines);
    return lines;
  }
  lines.emplace_back();
  for (std::string& line : wrapped(loss_text(what_if), kColumns)) lines.push_back(std::move(line));
  Table table({{"without what is slow in", Table::Align::kLeft, 40},
               {"speedup"},
               {"cost if nothing else is slow"}});
  std::size_t shown = 0;
  for (const Scenario& scenario : what_if.scenarios) {
    if (shown == kMaxRows || scenario.gain < kWorthReporting) break;
    table.add({scenario.name, fmt::format("{:.2f} ×", scenario.gain),
               fmt::format("{:.2f} ×", scenario.alone)});
    ++shown;
  }
  if (shown != 0) {
    for (const std::string& line : table.lines(2)) lines.push_back(line);
  }
  lines.push_back(
      fmt::format("  S = {:.3f}: actual time / time with every operation at the mean "
                  "(transfers: median) time of its type.",
                  what_if.slowdown));
  add_notes(what_if, lines);
  return lines;
}

nlohmann::ordered_json loss_json(const WhatIf& what_if) {
  if (!what_if.is_there()) return nullptr;
  nlohmann::ordered_json json = {{"total", what_if.loss.total},
                                 {"explained", what_if.loss.explained}};
  const Scenario* const mostly = most_of_loss(what_if);
  if (mostly == nullptr)
    json["mostly_in"] = nullptr;
  else
    json["mostly_in"] = {
        {"kind", name_of(mostly->kind)}, {"name", mostly->name}, {"gain", mostly->gain}};
  return json;
}

nlohmann::ordered_json what_if_json(const WhatIf& what_if) {
  if (!what_if.is_there()) return {{"slowdown", nullptr}, {"limits", what_if.limitations}};
  nlohmann::ordered_json json = {{"slowdown", what_if.slowdown},
                                 {"step_s", what_if.step_ns / 1e9},
                                 {"ideal_step_s", what_if.ideal_step_ns / 1e9}};
  json["best_step_s"] = what_if.best_step_ns / 1e9;
  json["steps"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < what_if.steps.size(); ++i) {
    json["steps"].push_back({{"step", what_if.steps[i]}, {"slowdown", what_if.step_slowdowns[i]}});
  }
  json["scenarios"] = nlohmann::ordered_json::array();
  for (const Scenario& scenario : what_if.scenarios) {
    json["scenarios"].push_back({{"kind", name_of(scenario.kind)},
                                 {"name", scenario.name},
                                 {"gain", scenario.gain},
                                 {"alone", scenario.alone},
                                 {"alone_at_mean", scenario.alone_at_mean}});
  }
  json["limits"] = what_if.limitations;
  return json;
}

}  // namespace megascope::cli
