#include "analysis/whatif/graph_builder.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/detect/step_finder.h"
#include "analysis/pieces/piece.h"
#include "analysis/whatif/waits_between.h"

namespace megascope::whatif {
namespace {

using analysis::MatchTables;

/// All steps, or some stretches of them from all over the run.
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

/// Pieces of a program's steps: of those that all ranks have, as many as fit.
std::vector<Piece> program(const RecordSource& source, const MatchTables& tables, const GraphOptions& options, pieces::Names& names, OperationGraph& graph) {
  std::vector<detect::StepTimes> steps;
  std::size_t count = SIZE_MAX;
  std::uint64_t call_count = 0;
  const bool is_told = options.told != nullptr && options.told->is_there();
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    const std::int32_t rank = source.world_ranks()[i];
    steps.push_back(is_told ? detect::step_times_of(source, rank, options.told->marks.begin_ns[i], options.told->marks.end_ns[i])
                            : detect::find_step_times(source, rank));
    count = std::min(count, steps.back().ends_ns.size());
    call_count += steps.back().call_count;
  }
  std::vector<Piece> pieces;
  if (steps.empty() || count == 0) {
    graph.limitations.emplace_back("nothing was replayed: not every rank has steps that come back");
    return pieces;
  }
  const std::size_t a_step = std::max<std::size_t>(2 * call_count / count, 1);
  constexpr std::size_t kMostOfOneStep = 4;  // times what is replayed
  if (a_step > kMostOfOneStep * options.most_operations) {
    graph.limitations.push_back("nothing was replayed: a step has " + std::to_string(a_step) + " operations");
    return pieces;
  }
  const std::vector<bool> is_kept = kept_steps(count, options.most_operations / a_step);
  const auto kept = static_cast<std::size_t>(std::count(is_kept.begin(), is_kept.end(), true));
  if (kept < count) graph.limitations.push_back(std::to_string(kept) + " of " + std::to_string(count) + " steps, from all over the run, were replayed");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].ends_ns.resize(count);
    pieces::program_pieces(source, tables, i, steps[i], is_kept, names, pieces);
  }
  if (is_told && std::ranges::is_sorted(options.told->numbers, std::less_equal<>())) {
    for (Piece& piece : pieces) piece.step = options.told->numbers[static_cast<std::size_t>(piece.step)];
  }
  return pieces;
}

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

/// On a rank, what is told as regions runs on several streams: an operation comes behind the one that ended last of those that
/// began before and overlap it by less than a tenth of the shorter. order: one rank's operations of a step, by begin.
void chain_streams(const std::vector<Piece>& pieces, const std::vector<std::uint32_t>& order, std::vector<Operation>& operations) {
  constexpr double kOverlap = 0.1;
  std::multimap<std::uint64_t, std::uint32_t> by_end;
  std::vector<std::uint32_t> same_begin;
  std::uint64_t begin_ns = 0;
  for (const std::uint32_t index : order) {
    const Piece& piece = pieces[index];
    if (piece.begin_ns != begin_ns) {
      for (const std::uint32_t earlier : same_begin) by_end.emplace(pieces[earlier].end_ns, earlier);
      same_begin.clear();
      begin_ns = piece.begin_ns;
    }
    const auto length = static_cast<double>(piece.end_ns - piece.begin_ns);
    for (auto at = by_end.upper_bound(piece.begin_ns + static_cast<std::uint64_t>(kOverlap * length)); at != by_end.begin();) {
      const Piece& earlier = pieces[(--at)->second];
      const double shorter = std::min(length, static_cast<double>(earlier.end_ns - earlier.begin_ns));
      if (static_cast<double>(earlier.end_ns) > static_cast<double>(piece.begin_ns) + kOverlap * shorter) continue;
      operations[index].before = at->second;
      break;
    }
    same_begin.push_back(index);
  }
}

/// By rank and begin.
void chain(const std::vector<Piece>& pieces, OperationGraph& graph) {
  std::vector<std::uint32_t> order(pieces.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::uint32_t i) {
    return std::tuple(graph.rank_of[i], graph.has_separate_steps ? graph.step_of[i] : 0, pieces[i].begin_ns, pieces[i].end_ns, i);
  };
  std::sort(order.begin(), order.end(), [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> run;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_first = i == 0 || graph.rank_of[order[i]] != graph.rank_of[order[i - 1]] ||
                          (graph.has_separate_steps && graph.step_of[order[i]] != graph.step_of[order[i - 1]]);
    if (!graph.has_separate_steps) {
      if (!is_first) graph.operations[order[i]].before = order[i - 1];
      continue;
    }
    if (is_first) {
      chain_streams(pieces, run, graph.operations);
      run.clear();
    }
    run.push_back(order[i]);
  }
  if (graph.has_separate_steps) chain_streams(pieces, run, graph.operations);
}

/// Types, steps and ranks of the pieces. Their durations are whole yet.
void add_operations(const std::vector<Piece>& pieces, const MatchTables& tables, OperationGraph& graph) {
  std::unordered_map<std::uint64_t, std::uint32_t> type_of;
  std::map<std::int64_t, std::uint32_t> step_of;
  for (const Piece& piece : pieces) step_of.try_emplace(piece.step, 0);
  for (auto& [step, index] : step_of) {
    index = static_cast<std::uint32_t>(graph.step_numbers.size());
    graph.step_numbers.push_back(step);
  }
  for (const Piece& piece : pieces) {
    const auto [type, is_new] = type_of.try_emplace(piece.kind, static_cast<std::uint32_t>(graph.types.size()));
    if (is_new) graph.types.push_back({piece.name, piece.is_work});
    graph.operations.push_back({.before = kNone, .type = type->second, .group = kNone, .duration_ns = static_cast<float>(piece.end_ns - piece.begin_ns)});
    graph.step_of.push_back(step_of.at(piece.step));
    graph.rank_of.push_back(tables.place(piece.track).process_index);
  }
}

void begin_group(OperationGraph& graph) {
  if (graph.group_begin.empty()) graph.group_begin.push_back(0);
}
void end_group(OperationGraph& graph) { graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size())); }

/// Waits become groups.
void add_groups(WaitSink& sink, OperationGraph& graph) {
  begin_group(graph);
  for (const WaitSink::Meeting& meeting : sink.take_meetings()) {
    const auto group = static_cast<std::uint32_t>(graph.group_count());
    graph.starters.insert(graph.starters.end(), meeting.starts.begin(), meeting.starts.end());
    for (const std::uint32_t piece : meeting.ends) {
      if (piece != kNone) graph.operations[piece].group = group;  // of several that one call ends, the last counts
    }
    end_group(graph);
  }
  const std::vector<WaitSink::Need> needs = sink.take_needs();
  for (std::size_t i = 0; i < needs.size();) {
    const std::uint32_t piece = needs[i].piece;
    Operation& operation = graph.operations[piece];
    std::vector<OperationIndex> starters;
    if (operation.group != kNone) {  // it ends a collective as well
      starters.assign(graph.starters.begin() + graph.group_begin[operation.group], graph.starters.begin() + graph.group_begin[operation.group + 1]);
    }
    for (; i < needs.size() && needs[i].piece == piece; ++i) {
      const bool is_in_time = !graph.has_separate_steps || graph.step_of[needs[i].of] == graph.step_of[piece];
      if (is_in_time) starters.push_back(needs[i].of);
    }
    if (starters.empty()) continue;
    operation.group = static_cast<std::uint32_t>(graph.group_count());
    graph.starters.insert(graph.starters.end(), starters.begin(), starters.end());
    end_group(graph);
  }
}

/// What communication took from when it need wait no longer. A call that only finished what had come before tells no more than
/// that the transfer was shorter.
void set_durations(const std::vector<Piece>& pieces, OperationGraph& graph) {
  constexpr double kWaited = 0.05;  ///< of the transfer: a call that took less did not wait
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Operation& operation = graph.operations[i];
    if (operation.group == kNone) continue;
    std::uint64_t from_ns = 0;
    for (std::uint32_t s = graph.group_begin[operation.group]; s < graph.group_begin[operation.group + 1]; ++s) {
      from_ns = std::max(from_ns, pieces[graph.starters[s]].begin_ns);
    }
    const auto transfer_ns = from_ns < pieces[i].end_ns ? static_cast<double>(pieces[i].end_ns - from_ns) : 0.0;
    const auto inside_ns = static_cast<double>(pieces[i].end_ns - pieces[i].begin_ns);
    const bool is_known = from_ns >= pieces[i].begin_ns || inside_ns > kWaited * transfer_ns;
    operation.duration_ns = is_known ? static_cast<float>(transfer_ns) : kUnknownDuration;
    operation.own_ns = is_known ? 0.0F : static_cast<float>(inside_ns);
  }
}

}  // namespace

OperationGraph build_graph(const RecordSource& source, const MatchTables& tables, const GraphOptions& options) {
  OperationGraph graph;
  graph.world_ranks = source.world_ranks();
  graph.has_separate_steps = pieces::is_of_regions(source);
  pieces::Names names;
  const std::vector<Piece> pieces = graph.has_separate_steps ? regions(source, tables, options, names, graph) : program(source, tables, options, names, graph);
  graph.names = names.take();
  if (pieces.empty()) {
    if (graph.limitations.empty()) graph.limitations.emplace_back("nothing was replayed: no operation says its step");
    return graph;
  }
  add_operations(pieces, tables, graph);
  chain(pieces, graph);
  const PieceIndex index(pieces, tables.track_count());
  WaitSink sink(index, graph.has_separate_steps);
  (void)analysis::match_run(source, tables, sink, options.jobs);
  add_groups(sink, graph);
  set_durations(pieces, graph);
  return graph;
}

}  // namespace megascope::whatif
