#include "analysis/whatif/graph_assembly.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace megascope::whatif {
namespace {

using analysis::MatchTables;
using segments::Segment;

/// Sets `before` of one rank's operations of a step. Operations recorded as regions run on several
/// streams: an operation follows the one that ended last among those that began earlier and overlap
/// it by less than a tenth of the shorter one. order: the operations, by begin.
void chain_streams(const std::vector<Segment>& segments, const std::vector<std::uint32_t>& order,
                   std::vector<Operation>& operations) {
  constexpr double kOverlap = 0.1;
  std::multimap<std::uint64_t, std::uint32_t> by_end;
  std::vector<std::uint32_t> same_begin;
  std::uint64_t begin_ns = 0;
  for (const std::uint32_t index : order) {
    const Segment& segment = segments[index];
    if (segment.begin_ns != begin_ns) {
      for (const std::uint32_t earlier : same_begin)
        by_end.emplace(segments[earlier].end_ns, earlier);
      same_begin.clear();
      begin_ns = segment.begin_ns;
    }
    const auto length = static_cast<double>(segment.end_ns - segment.begin_ns);
    for (auto at =
             by_end.upper_bound(segment.begin_ns + static_cast<std::uint64_t>(kOverlap * length));
         at != by_end.begin();) {
      const Segment& earlier = segments[(--at)->second];
      const double shorter = std::min(length,
                                      static_cast<double>(earlier.end_ns - earlier.begin_ns));
      if (static_cast<double>(earlier.end_ns) >
          static_cast<double>(segment.begin_ns) + kOverlap * shorter)
        continue;
      operations[index].before = at->second;
      break;
    }
    same_begin.push_back(index);
  }
}

/// Sets `before` of all operations: by rank and begin.
void chain(const std::vector<Segment>& segments, OperationGraph& graph) {
  std::vector<std::uint32_t> order(segments.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::uint32_t i) {
    return std::tuple(graph.rank_of[i], graph.has_separate_steps ? graph.step_of[i] : 0,
                      segments[i].begin_ns, segments[i].end_ns, i);
  };
  const auto is_before = [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); };
  if (!std::is_sorted(order.begin(), order.end(),
                      is_before))  // segments of MPI programs are sorted
    std::sort(order.begin(), order.end(), is_before);
  std::vector<std::uint32_t> run;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_first = i == 0 || graph.rank_of[order[i]] != graph.rank_of[order[i - 1]] ||
                          (graph.has_separate_steps &&
                           graph.step_of[order[i]] != graph.step_of[order[i - 1]]);
    if (!graph.has_separate_steps) {
      if (!is_first) graph.operations[order[i]].before = order[i - 1];
      continue;
    }
    if (is_first) {
      chain_streams(segments, run, graph.operations);
      run.clear();
    }
    run.push_back(order[i]);
  }
  if (graph.has_separate_steps) chain_streams(segments, run, graph.operations);
}

/// Adds one operation a segment, with type, step and rank. Its duration is the whole length of the
/// segment until set_durations().
void add_operations(const std::vector<Segment>& segments, const MatchTables& tables,
                    OperationGraph& graph) {
  std::unordered_map<std::uint64_t, std::uint32_t> type_of;
  std::map<std::int64_t, std::uint32_t> step_of;
  for (const Segment& segment : segments) step_of.try_emplace(segment.step, 0);
  for (auto& [step, index] : step_of) {
    index = static_cast<std::uint32_t>(graph.step_numbers.size());
    graph.step_numbers.push_back(step);
  }
  for (const Segment& segment : segments) {
    const auto [type, is_new] = type_of.try_emplace(segment.kind,
                                                    static_cast<std::uint32_t>(graph.types.size()));
    if (is_new) graph.types.push_back({segment.name, segment.is_work});
    graph.operations.push_back(
        {.before = kNone,
         .type = type->second,
         .group = kNone,
         .duration_ns = static_cast<float>(segment.end_ns - segment.begin_ns)});
    graph.step_of.push_back(step_of.at(segment.step));
    graph.rank_of.push_back(tables.owner(segment.track).process_index);
  }
}

void begin_group(OperationGraph& graph) {
  if (graph.group_begin.empty()) graph.group_begin.push_back(0);
}
void add_starter(OperationIndex segment, OperationGraph& graph) {
  if (segment != kNone) graph.starters.push_back(segment);
}
void end_group(OperationGraph& graph) {
  graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size()));
}

/// Converts the dependencies of `sink` to groups.
void add_groups(WaitSink& sink, const SegmentNumbers& numbers, OperationGraph& graph) {
  begin_group(graph);
  for (const WaitSink::Instance& instance : sink.take_instances()) {
    const auto group = static_cast<std::uint32_t>(graph.group_count());
    for (const SegmentKey key : instance.starts) add_starter(numbers.of(key), graph);
    for (const SegmentKey key : instance.ends) {
      const OperationIndex segment = key == kNoSegment ? kNone : numbers.of(key);
      if (segment != kNone)
        graph.operations[segment]
            .group = group;  // if one call completes several, the last one counts
    }
    end_group(graph);
  }
  const std::vector<WaitSink::Need> needs = sink.take_needs();
  for (std::size_t i = 0; i < needs.size();) {
    const SegmentKey waiting = needs[i].segment;
    const OperationIndex segment = numbers.of(waiting);
    if (segment == kNone) {
      ++i;
      continue;
    }
    Operation& operation = graph.operations[segment];
    std::vector<OperationIndex> starters;
    if (operation.group != kNone) {  // it completes a collective, too
      starters.assign(graph.starters.begin() + graph.group_begin[operation.group],
                      graph.starters.begin() + graph.group_begin[operation.group + 1]);
    }
    for (; i < needs.size() && needs[i].segment == waiting; ++i) {
      const OperationIndex needed = numbers.of(needs[i].of);
      const bool is_in_time = needed != kNone && (!graph.has_separate_steps ||
                                                  graph.step_of[needed] == graph.step_of[segment]);
      if (is_in_time) starters.push_back(needed);
    }
    if (starters.empty()) continue;
    operation.group = static_cast<std::uint32_t>(graph.group_count());
    graph.starters.insert(graph.starters.end(), starters.begin(), starters.end());
    end_group(graph);
  }
}

/// Sets the duration of operations with a group: from the latest start in the group to the end. If
/// the call only completed a transfer that had already ended, the duration is unknown.
void set_durations(const std::vector<Segment>& segments, OperationGraph& graph) {
  constexpr double kWaited = 0.05;  ///< share of the transfer time: a shorter call did not wait
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Operation& operation = graph.operations[i];
    if (operation.group == kNone) continue;
    std::uint64_t from_ns = 0;
    for (std::uint32_t s = graph.group_begin[operation.group];
         s < graph.group_begin[operation.group + 1]; ++s) {
      from_ns = std::max(from_ns, segments[graph.starters[s]].begin_ns);
    }
    const auto transfer_ns = from_ns < segments[i].end_ns
                                 ? static_cast<double>(segments[i].end_ns - from_ns)
                                 : 0.0;
    const auto inside_ns = static_cast<double>(segments[i].end_ns - segments[i].begin_ns);
    const bool is_known = from_ns >= segments[i].begin_ns || inside_ns > kWaited * transfer_ns;
    operation.duration_ns = is_known ? static_cast<float>(transfer_ns) : kUnknownDuration;
    operation.own_ns = is_known ? 0.0F : static_cast<float>(inside_ns);
  }
}

}  // namespace

void assemble(const std::vector<Segment>& segments, WaitSink& waits, const SegmentNumbers& numbers,
              const MatchTables& tables, OperationGraph& graph) {
  if (segments.empty()) return;
  add_operations(segments, tables, graph);
  chain(segments, graph);
  add_groups(waits, numbers, graph);
  set_durations(segments, graph);
}

}  // namespace megascope::whatif
