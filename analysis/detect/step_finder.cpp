#include "analysis/detect/step_finder.h"

#include "analysis/common/workers.h"
#include "analysis/detect/call_kinds.h"
#include "analysis/detect/inner_loop.h"
#include "core/record/definitions.h"
#include "core/record/mpi_calls.h"

#include <algorithm>
#include <memory>
#include <tuple>

namespace megascope::detect {
namespace {

constexpr std::size_t kFirstRead = 4096;
constexpr std::uint64_t
    kManySteps = 16;  ///< number of steps from which on no better marker is sought
constexpr std::uint64_t kEnoughSteps = 8;
constexpr std::uint64_t kMinSteps = 3;
/// Largest ratio, between ranks, of loop iterations a step; if only a part of the calls was read.
constexpr double kMaxDifference = 1.15;
constexpr double kMaxBodies = 2.5;  ///< largest difference of loop iterations between ranks; if all
                                    ///< calls were read

/// The possible step markers of a rank.
struct Candidates {
  StepMarker outer;
  StepMarker inner;
  InnerLoop loop;
  bool is_whole = false;  ///< the loop was sought in all calls
  bool has_calls = false;
};

std::int64_t size_of(const ProcessDefinitions& process, CommId id) {
  const CommDefinition* comm = process.comm(id);
  return comm == nullptr ? 0 : rank_count(comm->members);
}

/// Returns the index of the rarest regular kind with at least `least` calls; of about equally rare
/// ones, a collective before others, then the largest communicator, most bytes, latest. kNoKind if
/// there is none.
std::size_t outermost(const ProcessDefinitions& process, const std::vector<CallKind>& kinds,
                      std::uint64_t least) {
  const auto is_step = [&](const CallKind& kind) {
    return !kind.key.is_message_completion() && kind.count >= least && kind.is_regular();
  };
  std::uint64_t rarest = UINT64_MAX;
  for (const CallKind& kind : kinds) {
    if (is_step(kind)) rarest = std::min(rarest, kind.count);
  }
  std::size_t chosen = kNoKind;
  std::tuple<bool, std::int64_t, std::uint64_t, std::uint64_t> rank_of_chosen;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const CallKind& kind = kinds[i];
    if (!is_step(kind) || kind.count > rarest + 1) continue;
    const bool is_collective = kind.key.is_blocking_collective();
    const std::tuple rank(is_collective, is_collective ? size_of(process, kind.key.comm()) : 0,
                          kind.key.bytes(), kind.last);
    if (chosen != kNoKind && rank <= rank_of_chosen) continue;
    chosen = i;
    rank_of_chosen = rank;
  }
  return chosen;
}

StepMarker marker_of(const CallKind& kind) { return {.region = kind.region, .key = kind.key}; }

/// Finds the markers of a rank whose trace was read to its end.
void find_rarely_outer(const ProcessDefinitions& process, const CallKinds& calls,
                       Candidates& found) {
  std::size_t outer = outermost(process, calls.all(), kEnoughSteps);
  if (outer == kNoKind) outer = outermost(process, calls.all(), kMinSteps);
  if (outer != kNoKind) found.outer = marker_of(calls.all()[outer]);
  if (outer != kNoKind && calls.all()[outer].count >= kManySteps) return;
  found.loop = find_inner_loop(calls, outer);
  found.is_whole = calls.is_order_whole();
  if (!found.loop.is_found()) return;
  found.inner = marker_of(calls.all()[found.loop.kind]);
  found.inner.every = found.loop.every;
  found.inner.offset = found.loop.offset;
}

Candidates candidates_of(const RecordSource& source, std::int32_t world_rank) {
  const ProcessDefinitions& process = source.process(world_rank);
  Candidates found;
  if (process.locations.empty()) return found;
  const auto stream = mpi_calls(source, world_rank, judged_location(process));
  CallKinds calls;
  Call call;
  for (std::size_t goal = kFirstRead, count = 0;; goal *= 4) {
    for (; count < goal; ++count) {
      if (!stream->next(call)) {
        found.has_calls = count > 0;
        find_rarely_outer(process, calls, found);
        return found;
      }
      calls.add(call);
    }
    const std::size_t outer = outermost(process, calls.all(), kManySteps);
    if (outer == kNoKind) continue;
    found.outer = marker_of(calls.all()[outer]);
    found.has_calls = true;
    return found;
  }
}

/// Returns whether all ranks execute their inner loops equally often.
bool have_one_loop(const std::vector<Candidates>& ranks) {
  double least = 0.0;
  double most = 0.0;
  double min_in_outer = 0.0;
  double max_in_outer = 0.0;
  bool are_whole = true;
  bool is_first = true;
  for (const Candidates& rank : ranks) {
    if (!rank.has_calls) continue;
    if (!rank.loop.is_found()) return false;
    const double in_outer = rank.loop.outer_count > 0 ? rank.loop.count / rank.loop.outer_count
                                                      : 0.0;
    least = is_first ? rank.loop.count : std::min(least, rank.loop.count);
    most = std::max(most, rank.loop.count);
    min_in_outer = is_first ? in_outer : std::min(min_in_outer, in_outer);
    max_in_outer = std::max(max_in_outer, in_outer);
    are_whole = are_whole && rank.is_whole;
    is_first = false;
  }
  if (is_first) return false;
  return are_whole ? most - least <= kMaxBodies
                   : min_in_outer > 0 && max_in_outer <= kMaxDifference * min_in_outer;
}

StepTimes times_of(const RecordSource& source, std::int32_t world_rank, const StepMarker& marker) {
  StepTimes steps;
  if (!marker.is_found()) return steps;
  StepEnds ends(marker);
  const std::unique_ptr<CallStream> calls = mpi_calls(source, world_rank,
                                                      judged_location(source.process(world_rank)));
  for (Call call; calls->next(call);) {
    if (call.depth != 0) continue;
    if (steps.call_count++ == 0) steps.begin_ns = call.enter_ns;
    if (ends.end_at(call)) steps.ends_ns.push_back(call.leave_ns);
  }
  return steps;
}

}  // namespace

LocationId judged_location(const ProcessDefinitions& process) {
  for (const LocationDefinition& location : process.locations) {
    if (location.is_main) return location.id;
  }
  return 0;
}

std::vector<StepMarker> find_step_markers(const RecordSource& source, unsigned jobs) {
  const std::vector<std::int32_t>& world_ranks = source.world_ranks();
  std::vector<Candidates> candidates(world_ranks.size());
  analysis::Workers(std::max(jobs, 1U)).for_each(world_ranks.size(), [&](std::size_t i) {
    candidates[i] = candidates_of(source, world_ranks[i]);
  });
  const bool is_inner = have_one_loop(candidates);
  std::vector<StepMarker> markers;
  for (const Candidates& rank : candidates) markers.push_back(is_inner ? rank.inner : rank.outer);
  return markers;
}

std::vector<StepTimes> find_step_times(const RecordSource& source, unsigned jobs) {
  const std::vector<std::int32_t>& world_ranks = source.world_ranks();
  const std::vector<StepMarker> markers = find_step_markers(source, jobs);
  std::vector<StepTimes> steps(world_ranks.size());
  analysis::Workers(std::max(jobs, 1U)).for_each(world_ranks.size(), [&](std::size_t i) {
    steps[i] = times_of(source, world_ranks[i], markers[i]);
  });
  return steps;
}

StepTimes step_times_of(const RecordSource& source, std::int32_t world_rank,
                        const std::vector<std::uint64_t>& begins_ns,
                        const std::vector<std::uint64_t>& ends_ns) {
  StepTimes steps;
  if (ends_ns.empty() || source.process(world_rank).locations.empty()) return steps;
  steps.begin_ns = begins_ns.front();
  steps.begins_ns = begins_ns;
  steps.ends_ns = ends_ns;
  const std::unique_ptr<CallStream> calls = mpi_calls(source, world_rank,
                                                      judged_location(source.process(world_rank)));
  for (Call call; calls->next(call);) {
    const bool is_inside = call.enter_ns >= begins_ns.front() && call.enter_ns <= ends_ns.back();
    if (call.depth == 0 && is_inside) ++steps.call_count;
  }
  return steps;
}

}  // namespace megascope::detect
