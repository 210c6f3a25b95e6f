#include "analysis/detect/step_finder.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "core/record/definitions.h"
#include "core/record/mpi_calls.h"

namespace megascope::detect {
namespace {

constexpr std::size_t kFirstRead = 4096;
constexpr std::uint64_t kEnoughSteps = 8;
constexpr std::uint64_t kLeastSteps = 3;
constexpr double kLeastGap = 0.5;  ///< of the mean distance
constexpr double kMostGap = 1.6;

/// Occurrences of one kind of call.
struct Kind {
  RegionId region = kNoRegion;
  Fact fact;
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t shortest = UINT64_MAX;  ///< distance of two in a row, in calls
  std::uint64_t longest = 0;

  void add(std::uint64_t index) {
    if (count++ == 0) first = index;
    else {
      shortest = std::min(shortest, index - last);
      longest = std::max(longest, index - last);
    }
    last = index;
  }
  bool is_regular() const {
    if (count < kLeastSteps) return false;
    const double mean = static_cast<double>(last - first) / static_cast<double>(count - 1);
    return static_cast<double>(shortest) >= kLeastGap * mean && static_cast<double>(longest) <= kMostGap * mean;
  }
};

std::uint64_t key_of(RegionId region, const Fact& fact) {
  std::uint64_t key = region;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(fact.kind), static_cast<std::uint64_t>(fact.comm),
                                   static_cast<std::uint64_t>(fact.peer), static_cast<std::uint64_t>(fact.tag), fact.bytes}) {
    key = (key ^ part) * 0x9E3779B97F4A7C15U;
    key ^= key >> 29;
  }
  return key;
}

class Finder {
 public:
  Finder(const ProcessDefinitions& process) : process_(process) {}

  void add(const Call& call) {
    const std::uint64_t index = index_++;
    if (call.facts.empty() || call.depth != 0) return;
    const Fact& fact = call.facts.front();
    if (fact.kind == FactKind::kSendComplete || fact.kind == FactKind::kRecvComplete) return;  // in whatever order they end
    Kind& kind = kinds_[key_of(call.region, fact)];
    kind.region = call.region;
    kind.fact = fact;
    kind.add(index);
  }

  /// least: occurrences. The rarest, and of those about as rare the one on the largest communicator.
  StepMarker best(std::uint64_t least) const {
    std::uint64_t rarest = UINT64_MAX;
    for (const auto& [key, kind] : kinds_) {
      if (kind.count >= least && kind.is_regular()) rarest = std::min(rarest, kind.count);
    }
    const Kind* chosen = nullptr;
    std::tuple<bool, std::int64_t, std::uint64_t, std::uint64_t> rank_of_chosen;
    for (const auto& [key, kind] : kinds_) {
      if (kind.count < least || kind.count > rarest + 1 || !kind.is_regular()) continue;
      const bool is_collective = kind.fact.kind == FactKind::kCollective;
      const std::tuple rank(is_collective, is_collective ? size_of(kind.fact.comm) : 0, kind.fact.bytes, kind.last);
      if (chosen != nullptr && rank <= rank_of_chosen) continue;
      chosen = &kind;
      rank_of_chosen = rank;
    }
    return chosen == nullptr ? StepMarker{} : StepMarker{chosen->region, chosen->fact};
  }

 private:
  std::int64_t size_of(CommId id) const {
    const CommDefinition* comm = process_.comm(id);
    return comm == nullptr ? 0 : rank_count(comm->members);
  }

  const ProcessDefinitions& process_;
  std::unordered_map<std::uint64_t, Kind> kinds_;
  std::uint64_t index_ = 0;
};

}  // namespace

LocationId judged_location(const ProcessDefinitions& process) {
  for (const LocationDefinition& location : process.locations) {
    if (location.is_main) return location.id;
  }
  return 0;
}

StepMarker find_step_marker(const RecordSource& source, std::int32_t world_rank) {
  const ProcessDefinitions& process = source.process(world_rank);
  if (process.locations.empty()) return {};
  const auto calls = mpi_calls(source, world_rank, judged_location(process));
  Finder finder(process);
  Call call;
  for (std::size_t goal = kFirstRead, count = 0;; goal *= 4) {
    for (; count < goal; ++count) {
      if (!calls->next(call)) {
        const StepMarker marker = finder.best(kEnoughSteps);
        return marker.is_found() ? marker : finder.best(kLeastSteps);
      }
      finder.add(call);
    }
    const StepMarker marker = finder.best(2 * kEnoughSteps);
    if (marker.is_found()) return marker;
  }
}

StepTimes find_step_times(const RecordSource& source, std::int32_t world_rank) {
  StepTimes steps;
  if (source.process(world_rank).locations.empty()) return steps;
  const StepMarker marker = find_step_marker(source, world_rank);
  if (!marker.is_found()) return steps;
  const std::unique_ptr<CallStream> calls = mpi_calls(source, world_rank, judged_location(source.process(world_rank)));
  for (Call call; calls->next(call);) {
    if (call.depth != 0) continue;
    if (steps.call_count++ == 0) steps.begin_ns = call.enter_ns;
    if (marker.matches(call)) steps.ends_ns.push_back(call.leave_ns);
  }
  return steps;
}

StepTimes step_times_of(const RecordSource& source, std::int32_t world_rank, const std::vector<std::uint64_t>& begins_ns,
                        const std::vector<std::uint64_t>& ends_ns) {
  StepTimes steps;
  if (ends_ns.empty() || source.process(world_rank).locations.empty()) return steps;
  steps.begin_ns = begins_ns.front();
  steps.begins_ns = begins_ns;
  steps.ends_ns = ends_ns;
  const std::unique_ptr<CallStream> calls = mpi_calls(source, world_rank, judged_location(source.process(world_rank)));
  for (Call call; calls->next(call);) {
    const bool is_inside = call.enter_ns >= begins_ns.front() && call.enter_ns <= ends_ns.back();
    if (call.depth == 0 && is_inside) ++steps.call_count;
  }
  return steps;
}

}  // namespace megascope::detect
