#include "analysis/whatif/graph_builder.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/detect/step_finder.h"
#include "analysis/pieces/piece.h"
#include "analysis/whatif/graph_assembly.h"
#include "analysis/whatif/program_graph.h"

namespace megascope::whatif {
namespace {

using analysis::MatchTables;
using pieces::Piece;

/// Pieces of told operations: of the first steps that fit.
std::vector<Piece> regions(const RecordSource& source, const MatchTables& tables, const GraphOptions& options, pieces::Names& names, OperationGraph& graph) {
  std::vector<Piece> pieces;
  std::map<std::int64_t, std::size_t> counts;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // steps from here on are left out
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    std::vector<Piece> own;
    pieces::region_pieces(source, tables, i, names, own);
    for (const Piece& piece : own) ++counts[piece.step];
    std::size_t sum = 0;
    for (const auto& [step, count] : counts) {
      sum += count;
      if (sum > options.most_told_operations && step < end) end = step;
    }
    const auto is_out = [end](const Piece& piece) { return piece.step >= end; };
    std::erase_if(pieces, is_out);
    std::erase_if(own, is_out);
    pieces.insert(pieces.end(), own.begin(), own.end());
  }
  if (end != std::numeric_limits<std::int64_t>::max()) {
    graph.limitations.push_back("only steps before " + std::to_string(end) + " of " + std::to_string(counts.size()) + " steps were replayed");
  }
  return pieces;
}

/// Communication of all tracks.
PieceIndex index_of(const std::vector<Piece>& pieces, std::size_t track_count) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].is_work) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&pieces](std::uint32_t i) { return pieces[i].begin_ns; });
  PieceIndex index(track_count);
  for (const std::uint32_t i : order) index.add(pieces[i].track, pieces[i].begin_ns, piece_key(0, i));
  return index;
}

OperationGraph graph_of_regions(const RecordSource& source, const MatchTables& tables, const GraphOptions& options) {
  OperationGraph graph;
  graph.world_ranks = source.world_ranks();
  graph.has_separate_steps = true;
  pieces::Names names;
  const std::vector<Piece> pieces = regions(source, tables, options, names, graph);
  graph.names = names.take();
  if (pieces.empty()) graph.limitations.emplace_back("nothing was replayed: no operation says its step");
  const PieceIndex index = index_of(pieces, tables.track_count());
  WaitSink sink(index, /*is_synchronous=*/true);
  PieceNumbers numbers;
  numbers.add_process(pieces.size());
  if (!pieces.empty()) (void)analysis::match_run(source, tables, sink, options.jobs);
  assemble(pieces, sink, numbers, tables, graph);
  return graph;
}

}  // namespace

OperationGraph build_graph(const RecordSource& source, const MatchTables& tables, const GraphOptions& options) {
  if (pieces::is_of_regions(source)) return graph_of_regions(source, tables, options);
  std::vector<detect::StepTimes> steps;
  const bool is_told = options.told != nullptr && options.told->is_there();
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    const std::int32_t rank = source.world_ranks()[i];
    steps.push_back(is_told ? detect::step_times_of(source, rank, options.told->marks.begin_ns[i], options.told->marks.end_ns[i])
                            : detect::find_step_times(source, rank));
  }
  ProgramGraph program(source, tables, plan_steps(std::move(steps), options));
  (void)analysis::match_run(source, tables, program, options.jobs);
  return program.take();
}

}  // namespace megascope::whatif
