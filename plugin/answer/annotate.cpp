#include "plugin/answer/annotate.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace megascope::answer {
namespace {

using detect::RootCause;
using detect::StepTimes;

constexpr std::uint64_t kMinWaitNs = 1'000;
constexpr std::size_t kMaxRootCauses = 64;

/// Returns the index of the step with this application's number.
std::size_t step_index_of(const AnswerView& view, std::int32_t number) {
  if (view.step_numbers.empty()) return static_cast<std::size_t>(number);
  return static_cast<std::size_t>(std::ranges::find(view.step_numbers, number) -
                                  view.step_numbers.begin());
}

/// Returns the time from the first to the last step of a root cause; if the times of its steps are
/// not known, that of the evidence.
std::pair<std::uint64_t, std::uint64_t> time_of(const AnswerView& view,
                                                const RootCause& root_cause) {
  const auto& ranks = view.source.world_ranks();
  const auto rank = static_cast<std::size_t>(
      std::ranges::lower_bound(ranks, root_cause.evidence.world_rank) - ranks.begin());
  const StepTimes steps = rank < view.detection.steps.size() ? view.detection.steps[rank]
                                                             : StepTimes{};
  const std::size_t shown = step_index_of(view, root_cause.evidence.step);
  const std::size_t first = step_index_of(view, root_cause.onset_step);
  const std::size_t last = step_index_of(view, root_cause.last_step);
  const bool is_known = last < steps.ends_ns.size() && first <= last &&
                        shown < steps.ends_ns.size() &&
                        steps.ends_ns[shown] == root_cause.evidence.end_ns;
  if (!is_known) return {root_cause.evidence.begin_ns, root_cause.evidence.end_ns};
  return {steps.begin_of(first), steps.ends_ns[last]};
}

Annotation root_cause_annotation(const AnswerView& view, const RootCause& root_cause) {
  const auto [begin_ns, end_ns] = time_of(view, root_cause);
  return {.begin_ns = begin_ns,
          .end_ns = end_ns,
          .name = root_cause_title(root_cause),
          .world_ranks = root_cause.ranks,
          .arguments = {{"finding", root_cause_text(view, root_cause)},
                        {"kind", detect::name_of(root_cause.cause)},
                        {"factor", {}, root_cause.factor},
                        {"cost_fraction", {}, root_cause.cost_fraction},
                        {"confidence", {}, root_cause.confidence},
                        {"onset_step", {}, static_cast<double>(root_cause.onset_step)},
                        {"last_step", {}, static_cast<double>(root_cause.last_step)},
                        {"active_steps", {}, static_cast<double>(root_cause.active_steps)}}};
}

Annotation evidence_annotation(const detect::Evidence& evidence) {
  const auto duration = [](double time_ns) {
    return human_duration(static_cast<std::int64_t>(time_ns));
  };
  return {.begin_ns = evidence.begin_ns,
          .end_ns = evidence.end_ns,
          .name = fmt::format("Step {} of rank {}: {} took {} instead of {}", evidence.step,
                              evidence.world_rank, evidence.what, duration(evidence.observed_ns),
                              duration(evidence.expected_ns)),
          .world_ranks = {evidence.world_rank},
          .arguments = {{"step", {}, static_cast<double>(evidence.step)},
                        {"observed_s", {}, evidence.observed_ns / 1e9},
                        {"expected_s", {}, evidence.expected_ns / 1e9},
                        {"peers", {}, static_cast<double>(evidence.peer_count)}}};
}

void add_findings(const Answer& answer, Annotations& annotations) {
  const AnswerView& view = answer.view();
  for (const RootCause& root_cause : view.detection.root_causes) {
    if (annotations.findings.size() >= 2 * kMaxRootCauses) break;
    annotations.findings.push_back(root_cause_annotation(view, root_cause));
    if (root_cause.evidence.observed_ns > 0)
      annotations.findings.push_back(evidence_annotation(root_cause.evidence));
  }
}

void add_waits(const Answer& answer, Annotations& annotations) {
  for (std::size_t kind = 0; kind < analysis::kWaitKindCount; ++kind) {
    annotations.wait_kinds.emplace_back(kind_name(static_cast<analysis::WaitKind>(kind)));
  }
  const analysis::MatchTables& tables = answer.view().tables;
  const analysis::WaitStates::WaitPoints& wait_points = answer.states().wait_points();
  for (analysis::Track track = 0; track < wait_points.size(); ++track) {
    const analysis::MatchTables::TrackOwner& owner = tables.owner(track);
    std::vector<WaitAnnotation>& waits = annotations.waits[owner.world_rank];
    const analysis::GrowingArray<analysis::ClassifiedWaitPoint>& all = wait_points[track];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t end_ns = all[i].enter_ns + all[i].wait_ns;
      const bool has_other_inside = i + 1 < all.size() &&
                                    all[i + 1].enter_ns < end_ns;  // a callback that waits, too
      if (all[i].wait_ns < kMinWaitNs || has_other_inside) continue;
      waits.push_back({.begin_ns = all[i].enter_ns,
                       .end_ns = end_ns,
                       .location = owner.location,
                       .kind = all[i].kind_bits,
                       .waits_for = tables.owner(all[i].root_cause()).world_rank});
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
