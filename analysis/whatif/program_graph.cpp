#include "analysis/whatif/program_graph.h"

#include "analysis/whatif/graph_assembly.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace megascope::whatif {
namespace {

/// Selects all steps, or up to eight segments distributed over the run with about `most` steps in
/// all.
std::vector<bool> kept_steps(std::size_t count, std::size_t most) {
  constexpr std::size_t kStretches = 8;
  std::vector<bool> is_kept(count, count <= most);
  if (count <= most) return is_kept;
  const std::size_t stretches = std::min(kStretches, std::max<std::size_t>(most, 1));
  const std::size_t length = std::max<std::size_t>(most / stretches, 1);
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t first = stretches == 1 ? 0 : i * (count - length) / (stretches - 1);
    for (std::size_t step = first; step < first + length; ++step) is_kept[step] = true;
  }
  return is_kept;
}

}  // namespace

StepPlan plan_steps(std::vector<detect::StepTimes> steps, const GraphOptions& options) {
  StepPlan plan{.steps = std::move(steps), .numbers = {}, .is_kept = {}, .limitations = {}};
  std::size_t count = plan.steps.empty() ? 0 : SIZE_MAX;
  std::size_t max_found = 0;  // the most steps of a rank without annotated steps
  std::uint64_t call_count = 0;
  for (const detect::StepTimes& rank : plan.steps) {
    count = std::min(count, rank.ends_ns.size());
    if (!rank.is_annotated()) max_found = std::max(max_found, rank.ends_ns.size());
    call_count += rank.call_count;
  }
  for (detect::StepTimes& rank : plan.steps) rank.cut(count);
  if (count == 0) {
    plan.limitations.emplace_back("nothing was replayed: not every rank has steps that come back");
    return plan;
  }
  constexpr std::size_t
      kMaxRatio = 2;  // above it, the steps of different ranks cannot be assigned to each other
  if (max_found > kMaxRatio * count) {
    plan.limitations.emplace_back(
        "nothing was replayed: some ranks have more than twice as many steps as others");
    for (detect::StepTimes& rank : plan.steps) rank.cut(0);
    return plan;
  }
  const std::size_t a_step = std::max<std::size_t>(2 * call_count / count, 1);
  constexpr std::size_t kMaxOfOneStep = 4;  // times max_operations
  if (a_step > kMaxOfOneStep * options.max_operations) {
    plan.limitations.push_back("nothing was replayed: a step has " + std::to_string(a_step) +
                               " operations");
    for (detect::StepTimes& rank : plan.steps) rank.cut(0);
    return plan;
  }
  // If the application's step numbers do not increase, they do not identify steps.
  const bool has_numbers = options.annotated != nullptr && options.annotated->is_there() &&
                           std::ranges::is_sorted(options.annotated->numbers, std::less_equal<>());
  if (has_numbers) plan.numbers = options.annotated->numbers;
  plan.is_kept = kept_steps(count, options.max_operations / a_step);
  const auto kept = static_cast<std::size_t>(
      std::count(plan.is_kept.begin(), plan.is_kept.end(), true));
  if (kept < count)
    plan.limitations.push_back(std::to_string(kept) + " of " + std::to_string(count) +
                               " steps, from all over the run, were replayed");
  return plan;
}

ProgramGraph::ProgramGraph(const RecordSource& source, const analysis::MatchTables& tables,
                           StepPlan plan)
    : source_(source),
      tables_(tables),
      plan_(std::move(plan)),
      index_(tables.track_count()),
      waits_(index_, /*is_synchronous=*/false) {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    processes_.emplace_back(source, tables, i, plan_.steps[i], plan_.is_kept, names_);
  }
}

void ProgramGraph::add_call(analysis::Track track, const Call& call) {
  const std::size_t process_index = tables_.owner(track).process_index;
  segments::ProgramSegments& process = processes_[process_index];
  if (track == process.track() && process.add(call))
    index_.add(track, call.enter_ns, segment_key(process_index, process.added_count() - 1));
}

OperationGraph ProgramGraph::take() {
  OperationGraph graph;
  graph.world_ranks = source_.world_ranks();
  graph.limitations = std::move(plan_.limitations);
  graph.names = names_.take();
  std::vector<segments::Segment> all;
  SegmentNumbers numbers;
  for (segments::ProgramSegments& process : processes_) {
    const std::vector<segments::Segment> own = process.take();
    all.insert(all.end(), own.begin(), own.end());
    numbers.add_process(own.size());
  }
  processes_.clear();
  for (segments::Segment& segment : all) {
    const auto step = static_cast<std::size_t>(segment.step);
    if (step < plan_.numbers.size()) segment.step = plan_.numbers[step];
  }
  if (all.empty() && graph.limitations.empty())
    graph.limitations.emplace_back("nothing was replayed: no operation has a step number");
  assemble(all, waits_, numbers, tables_, graph);
  return graph;
}

}  // namespace megascope::whatif
