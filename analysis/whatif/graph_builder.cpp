#include "analysis/whatif/graph_builder.h"

#include "analysis/detect/step_finder.h"
#include "analysis/pieces/piece.h"
#include "analysis/whatif/graph_assembly.h"
#include "analysis/whatif/program_graph.h"

#include <algorithm>
#include <limits>
#include <map>

namespace megascope::whatif {
namespace {

using analysis::MatchTables;
using pieces::Piece;

/// Pieces of the steps that are kept, process by process.
struct KeptPieces {
  std::vector<Piece> pieces;
  std::vector<std::vector<std::uint32_t>>
      index_of;  ///< by process and piece: index in `pieces`; kNone: not kept
};

/// Returns the first step that does not fit (the largest int64 if all fit), and the number of
/// steps.
std::pair<std::int64_t, std::size_t> end_of_kept(const pieces::RegionRun& run, std::size_t most) {
  std::map<std::int64_t, std::size_t> counts;
  for (const auto& process : run.processes) {
    for (const Piece& piece : process) ++counts[piece.step];
  }
  std::size_t sum = 0;
  for (const auto& [step, count] : counts) {
    sum += count;
    if (sum > most) return {step, counts.size()};
  }
  return {std::numeric_limits<std::int64_t>::max(), counts.size()};
}

KeptPieces kept_pieces(const pieces::RegionRun& run, const GraphOptions& options,
                       OperationGraph& graph) {
  const auto [end, count] = end_of_kept(run, options.max_annotated_operations);
  if (end != std::numeric_limits<std::int64_t>::max()) {
    graph.limitations.push_back("only steps before " + std::to_string(end) + " of " +
                                std::to_string(count) + " steps were replayed");
  }
  KeptPieces kept;
  for (const auto& process : run.processes) {
    std::vector<std::uint32_t>& index = kept.index_of.emplace_back();
    for (const Piece& piece : process) {
      const bool is_kept = piece.step < end;
      index.push_back(is_kept ? static_cast<std::uint32_t>(kept.pieces.size()) : kNone);
      if (is_kept) kept.pieces.push_back(piece);
    }
  }
  return kept;
}

/// Adds a group for each execution of work that contains synchronisation: it takes as long as its
/// shortest member, after all members have begun.
void add_hidden(const pieces::HiddenSync& hidden, const KeptPieces& kept, OperationGraph& graph) {
  if (graph.operations.empty()) return;
  graph.is_shared.assign(graph.group_count(), false);
  for (const pieces::HiddenSync::Meeting& meeting : hidden.meetings) {
    const auto group = static_cast<std::uint32_t>(graph.group_count());
    for (const pieces::PieceRef& member : hidden.members_of(meeting)) {
      const std::uint32_t index = kept.index_of[member.process][member.piece];
      if (index == kNone) continue;
      graph.starters.push_back(index);
      graph.operations[index].group = group;
      graph.operations[index].duration_ns = static_cast<float>(meeting.work_ns);
      graph.operations[index].own_ns = 0.0F;
    }
    graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size()));
    graph.is_shared.push_back(true);
  }
}

/// Indexes the communication pieces of all tracks.
PieceIndex index_of(const std::vector<Piece>& pieces, std::size_t track_count) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].is_work) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&pieces](std::uint32_t i) { return pieces[i].begin_ns; });
  PieceIndex index(track_count);
  for (const std::uint32_t i : order)
    index.add(pieces[i].track, pieces[i].begin_ns, piece_key(0, i));
  return index;
}

OperationGraph graph_of_regions(const RecordSource& source, const MatchTables& tables,
                                const GraphOptions& options) {
  OperationGraph graph;
  graph.world_ranks = source.world_ranks();
  graph.has_separate_steps = true;
  pieces::RegionRun read;
  if (options.regions == nullptr) read = pieces::read_regions(source, tables);
  const pieces::RegionRun& run = options.regions == nullptr ? read : *options.regions;
  graph.names = run.names;
  const KeptPieces kept = kept_pieces(run, options, graph);
  const std::vector<Piece>& pieces = kept.pieces;
  if (pieces.empty())
    graph.limitations.emplace_back("nothing was replayed: no operation has a step number");
  const PieceIndex index = index_of(pieces, tables.track_count());
  WaitSink sink(index, /*is_synchronous=*/true);
  PieceNumbers numbers;
  numbers.add_process(pieces.size());
  if (!pieces.empty()) (void)analysis::match_run(source, tables, sink, options.jobs);
  assemble(pieces, sink, numbers, tables, graph);
  if (options.hidden != nullptr) add_hidden(*options.hidden, kept, graph);
  return graph;
}

}  // namespace

OperationGraph build_graph(const RecordSource& source, const MatchTables& tables,
                           const GraphOptions& options) {
  if (pieces::is_of_regions(source)) return graph_of_regions(source, tables, options);
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
