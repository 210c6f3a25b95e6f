#include "analysis/whatif/graph_builder.h"

#include "analysis/detect/step_finder.h"
#include "analysis/segments/segment.h"
#include "analysis/whatif/graph_assembly.h"
#include "analysis/whatif/program_graph.h"

#include <algorithm>
#include <limits>
#include <map>

namespace megascope::whatif {
namespace {

using analysis::MatchTables;
using segments::Segment;

/// Segments of the steps that are kept, process by process.
struct KeptSegments {
  std::vector<Segment> segments;
  std::vector<std::vector<std::uint32_t>>
      index_of;  ///< by process and segment: index in `segments`; kNone: not kept
};

/// Returns the first step that does not fit (the largest int64 if all fit), and the number of
/// steps.
std::pair<std::int64_t, std::size_t> end_of_kept(const segments::RegionRun& run, std::size_t most) {
  std::map<std::int64_t, std::size_t> counts;
  for (const auto& process : run.processes) {
    for (const Segment& segment : process) ++counts[segment.step];
  }
  std::size_t sum = 0;
  for (const auto& [step, count] : counts) {
    sum += count;
    if (sum > most) return {step, counts.size()};
  }
  return {std::numeric_limits<std::int64_t>::max(), counts.size()};
}

KeptSegments kept_segments(const segments::RegionRun& run, const GraphOptions& options,
                           OperationGraph& graph) {
  const auto [end, count] = end_of_kept(run, options.max_annotated_operations);
  if (end != std::numeric_limits<std::int64_t>::max()) {
    graph.limitations.push_back("only steps before " + std::to_string(end) + " of " +
                                std::to_string(count) + " steps were replayed");
  }
  KeptSegments kept;
  for (const auto& process : run.processes) {
    std::vector<std::uint32_t>& index = kept.index_of.emplace_back();
    for (const Segment& segment : process) {
      const bool is_kept = segment.step < end;
      index.push_back(is_kept ? static_cast<std::uint32_t>(kept.segments.size()) : kNone);
      if (is_kept) kept.segments.push_back(segment);
    }
  }
  return kept;
}

/// Adds a group for each execution of work that contains synchronisation: it takes as long as its
/// shortest member, after all members have begun.
void add_hidden(const segments::HiddenSync& hidden, const KeptSegments& kept,
                OperationGraph& graph) {
  if (graph.operations.empty()) return;
  graph.is_shared.assign(graph.group_count(), false);
  for (const segments::HiddenSync::Instance& instance : hidden.instances) {
    const auto group = static_cast<std::uint32_t>(graph.group_count());
    for (const segments::SegmentRef& member : hidden.members_of(instance)) {
      const std::uint32_t index = kept.index_of[member.process][member.segment];
      if (index == kNone) continue;
      graph.starters.push_back(index);
      graph.operations[index].group = group;
      graph.operations[index].duration_ns = static_cast<float>(instance.work_ns);
      graph.operations[index].own_ns = 0.0F;
    }
    graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size()));
    graph.is_shared.push_back(true);
  }
}

/// Indexes the communication segments of all tracks.
SegmentIndex index_of(const std::vector<Segment>& segments, std::size_t track_count) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    if (!segments[i].is_work) order.push_back(i);
  }
  std::ranges::stable_sort(order, {},
                           [&segments](std::uint32_t i) { return segments[i].begin_ns; });
  SegmentIndex index(track_count);
  for (const std::uint32_t i : order)
    index.add(segments[i].track, segments[i].begin_ns, segment_key(0, i));
  return index;
}

OperationGraph graph_of_regions(const RecordSource& source, const MatchTables& tables,
                                const GraphOptions& options) {
  OperationGraph graph;
  graph.world_ranks = source.world_ranks();
  graph.has_separate_steps = true;
  segments::RegionRun read;
  if (options.regions == nullptr) read = segments::read_regions(source, tables);
  const segments::RegionRun& run = options.regions == nullptr ? read : *options.regions;
  graph.names = run.names;
  const KeptSegments kept = kept_segments(run, options, graph);
  const std::vector<Segment>& segments = kept.segments;
  if (segments.empty())
    graph.limitations.emplace_back("nothing was replayed: no operation has a step number");
  const SegmentIndex index = index_of(segments, tables.track_count());
  WaitSink sink(index, /*is_synchronous=*/true);
  SegmentNumbers numbers;
  numbers.add_process(segments.size());
  if (!segments.empty()) (void)analysis::match_run(source, tables, sink, options.jobs);
  assemble(segments, sink, numbers, tables, graph);
  if (options.hidden != nullptr) add_hidden(*options.hidden, kept, graph);
  return graph;
}

}  // namespace

OperationGraph build_graph(const RecordSource& source, const MatchTables& tables,
                           const GraphOptions& options) {
  if (segments::is_of_regions(source)) return graph_of_regions(source, tables, options);
  const bool is_annotated = options.annotated != nullptr && options.annotated->is_there();
  std::vector<detect::StepTimes> steps = is_annotated
                                             ? std::vector<detect::StepTimes>()
                                             : detect::find_step_times(source, options.jobs);
  for (std::size_t i = 0; is_annotated && i < source.world_ranks().size(); ++i) {
    steps.push_back(detect::step_times_of(source, source.world_ranks()[i],
                                          options.annotated->marks.begin_ns[i],
                                          options.annotated->marks.end_ns[i]));
  }
  ProgramGraph program(source, tables, plan_steps(std::move(steps), options));
  (void)analysis::match_run(source, tables, program, options.jobs);
  return program.take();
}

}  // namespace megascope::whatif
