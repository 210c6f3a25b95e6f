#include "analysis/detect/detect.h"

#include "analysis/detect/root_causes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace megascope::detect {
namespace {

constexpr std::size_t kMinSteps = 5;

}  // namespace

void add_steps(const RootCause& from, RootCause& to) {
  std::vector<std::int64_t> steps;
  std::ranges::set_union(to.steps, from.steps, std::back_inserter(steps));
  to.onset_step = std::min(to.onset_step, from.onset_step);
  to.last_step = std::max(to.last_step, from.last_step);
  to.active_steps = std::max(
      {to.active_steps, from.active_steps, static_cast<std::int32_t>(steps.size())});
  to.steps = std::move(steps);
}

RankMarks marks_of(const StepMarks* marks, std::size_t rank_index) {
  RankMarks mine;
  if (marks == nullptr || rank_index >= marks->end_ns.size()) return mine;
  mine.end_ns = &marks->end_ns[rank_index];
  if (rank_index < marks->begin_ns.size()) mine.begin_ns = &marks->begin_ns[rank_index];
  return mine;
}

Detection detect(const RecordSource& source, const Options& options) {
  Reduced reduced = reduce(source, options);
  Detection detection;
  detection.step_count = static_cast<std::int32_t>(reduced.step_count);
  detection.limitations = reduced.limitations;
  detection.steps = std::move(reduced.steps);
  for (const RankSteps& rank : reduced.ranks) detection.judged_ranks.push_back(rank.world_rank);
  if (reduced.step_count < kMinSteps) {
    if (reduced.step_count > 0)
      detection.limitations.push_back("only " + std::to_string(reduced.step_count) +
                                      " steps: too few to judge");
    return detection;
  }
  if (reduced.ranks.size() < 2) {
    detection.limitations.emplace_back("a single rank has no other rank to be compared with");
    return detection;
  }
  const Peers peers = find_peers(reduced, source, options.groups);
  WorkSeries work = compare_work(reduced, peers);
  add_shared_work(reduced, peers, options, work);
  relate_classes(peers, work);
  Findings findings;
  findings.units = slow_units(work, peers, options);
  findings.stalls = stalled_ranks(work, peers, options);
  findings.links = slow_links(reduced, peers, options);
  detection.root_causes = name_root_causes(reduced, peers, findings, options);
  return detection;
}

}  // namespace megascope::detect
