#include "plugin/answer/annotate.h"

#include "analysis/detect/step_finder.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace megascope::answer {
namespace {

using detect::Culprit;
using detect::StepTimes;

constexpr std::uint64_t kLeastWaitNs = 1'000;
constexpr std::size_t kMostCulprits = 64;

/// From the first to the last step of a culprit; where steps cannot be told in time, that of the evidence.
std::pair<std::uint64_t, std::uint64_t> time_of(const AnswerView& view, const Culprit& culprit, const StepTimes& steps) {
  const auto index_of = [&view](std::int32_t step) {  // from the program's numbers to steps as they are counted
    const auto found = std::ranges::lower_bound(view.step_numbers, step);
    return static_cast<std::size_t>(view.step_numbers.empty() ? step : found - view.step_numbers.begin());
  };
  const std::size_t shown = index_of(culprit.evidence.step);
  const std::size_t first = index_of(culprit.onset_step);
  const std::size_t last = index_of(culprit.last_step);
  const bool is_known = last < steps.ends_ns.size() && first <= last && shown < steps.ends_ns.size() &&
                        steps.ends_ns[shown] == culprit.evidence.end_ns;
  if (!is_known) return {culprit.evidence.begin_ns, culprit.evidence.end_ns};
  return {steps.begin_of(first), steps.ends_ns[last]};
}

Annotation culprit_annotation(const AnswerView& view, const Culprit& culprit, const StepTimes& steps) {
  const auto [begin_ns, end_ns] = time_of(view, culprit, steps);
  return {.begin_ns = begin_ns,
          .end_ns = end_ns,
          .name = culprit_title(culprit),
          .world_ranks = culprit.ranks,
          .arguments = {{"finding", culprit_text(view, culprit)},
                        {"kind", detect::name_of(culprit.cause)},
                        {"factor", {}, culprit.factor},
                        {"cost_fraction", {}, culprit.cost_fraction},
                        {"confidence", {}, culprit.confidence},
                        {"onset_step", {}, static_cast<double>(culprit.onset_step)},
                        {"last_step", {}, static_cast<double>(culprit.last_step)},
                        {"active_steps", {}, static_cast<double>(culprit.active_steps)}}};
}

Annotation evidence_annotation(const detect::Evidence& evidence) {
  const auto duration = [](double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); };
  return {.begin_ns = evidence.begin_ns,
          .end_ns = evidence.end_ns,
          .name = fmt::format("Step {} of rank {}: {} took {} instead of {}", evidence.step, evidence.world_rank, evidence.what,
                              duration(evidence.observed_ns), duration(evidence.expected_ns)),
          .world_ranks = {evidence.world_rank},
          .arguments = {{"step", {}, static_cast<double>(evidence.step)},
                        {"observed_s", {}, evidence.observed_ns / 1e9},
                        {"expected_s", {}, evidence.expected_ns / 1e9},
                        {"peers", {}, static_cast<double>(evidence.peer_count)}}};
}

void add_findings(const Answer& answer, Annotations& annotations) {
  const AnswerView& view = answer.view();
  std::map<std::int32_t, StepTimes> steps;
  for (const Culprit& culprit : view.detection.culprits) {
    if (annotations.findings.size() >= 2 * kMostCulprits) break;
    const auto [entry, is_new] = steps.try_emplace(culprit.evidence.world_rank);
    if (is_new) entry->second = answer.step_times(culprit.evidence.world_rank);
    annotations.findings.push_back(culprit_annotation(view, culprit, entry->second));
    if (culprit.evidence.observed_ns > 0) annotations.findings.push_back(evidence_annotation(culprit.evidence));
  }
}

void add_waits(const Answer& answer, Annotations& annotations) {
  for (std::size_t kind = 0; kind < analysis::kWaitKindCount; ++kind) {
    annotations.wait_kinds.emplace_back(kind_name(static_cast<analysis::WaitKind>(kind)));
  }
  const analysis::MatchTables& tables = answer.view().tables;
  const analysis::WaitStates::Stops& stops = answer.states().stops();
  for (analysis::Track track = 0; track < stops.size(); ++track) {
    const analysis::MatchTables::Place& place = tables.place(track);
    std::vector<WaitAnnotation>& waits = annotations.waits[place.world_rank];
    const std::vector<analysis::WaitingStop>& all = stops[track];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t end_ns = all[i].enter_ns + all[i].wait_ns;
      const bool has_other_inside = i + 1 < all.size() && all[i + 1].enter_ns < end_ns;  // a callback that waits
      if (all[i].wait_ns < kLeastWaitNs || has_other_inside) continue;
      waits.push_back({.begin_ns = all[i].enter_ns, .end_ns = end_ns, .location = place.location,
                       .kind = static_cast<std::uint32_t>(all[i].kind), .waits_for = tables.place(all[i].culprit).world_rank});
    }
  }
}

}  // namespace

Annotations annotations_of(const Answer& answer) {
  Annotations annotations;
  add_findings(answer, annotations);
  add_waits(answer, annotations);
  return annotations;
}

}  // namespace megascope::answer
