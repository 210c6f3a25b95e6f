#include "analysis/segments/region_run.h"
#include "analysis/segments/segment.h"
#include "core/base/hash.h"
#include "core/record/event_view.h"

#include <algorithm>

namespace megascope::segments {
namespace {

bool is_communication(const RegionDefinition* region) {
  return region != nullptr && region->role != RegionRole::kCode &&
         region->role != RegionRole::kFunction && region->role != RegionRole::kArtificial;
}

struct Region {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t name = 0;
  std::int64_t step = -1;
  bool is_work = true;
};

/// Cuts one location's operations into segments that do not overlap.
class Cutter {
 public:
  Cutter(std::uint32_t track, std::vector<Segment>& segments)
      : track_(track), segments_(segments) {}

  /// Adds the next region, in order of begin; of regions with the same begin the longest first,
  /// because it encloses the others.
  void add(const Region& region) {
    end_until(region.begin_ns);
    std::int64_t step = region.step;
    if (!open_.empty()) {
      Open& around = open_.back();
      if (!around.is_work) return;  // regions inside communication are part of it
      emit(around, region.begin_ns);
      if (step < 0) step = around.step;
    }
    open_.push_back({.begin_ns = region.begin_ns,
                     .next_ns = region.begin_ns,
                     .end_ns = region.end_ns,
                     .name = region.name,
                     .part = 0,
                     .step = step,
                     .is_work = region.is_work});
  }
  void finish() { end_until(~std::uint64_t{0}); }

 private:
  struct Open {
    std::uint64_t begin_ns = 0;
    std::uint64_t next_ns = 0;  ///< end of its last segment
    std::uint64_t end_ns = 0;
    std::uint32_t name = 0;
    std::uint32_t part = 0;  ///< number of its segments so far
    std::int64_t step = -1;
    bool is_work = true;
  };

  void emit(Open& open, std::uint64_t end_ns) {
    const bool is_whole = open.part == 0 && end_ns == open.end_ns;
    if (open.step >= 0 && (end_ns > open.next_ns || is_whole)) {
      const bool continues = open.part != 0;
      const std::uint64_t kind = combined(std::uint64_t{open.name} << 1 | (open.is_work ? 1 : 0),
                                          open.part++);
      segments_.push_back(
          {open.next_ns, end_ns, kind, open.step, open.name, track_, open.is_work, continues});
    }
    open.next_ns = end_ns;
  }
  void end_until(std::uint64_t time_ns) {
    while (!open_.empty() && (open_.back().end_ns < time_ns || (open_.back().end_ns == time_ns &&
                                                                open_.back().begin_ns < time_ns))) {
      Open ended = open_.back();
      open_.pop_back();
      emit(ended, ended.end_ns);
      if (!open_.empty()) open_.back().next_ns = ended.end_ns;
    }
  }

  std::uint32_t track_;
  std::vector<Segment>& segments_;
  std::vector<Open> open_;
};

std::int64_t step_of(const Call& call) {
  for (const Fact& fact : call.facts) {
    const auto value = events::as<events::Value>(fact);
    if (value && value->name() == ValueName::kStep) return value->number();
  }
  return -1;
}

}  // namespace

void region_segments(const RecordSource& source, const analysis::MatchTables& tables,
                     std::size_t process_index, Names& names, std::vector<Segment>& segments) {
  const std::int32_t rank = source.world_ranks()[process_index];
  const ProcessDefinitions& process = source.process(rank);
  for (const LocationDefinition& location : process.locations) {
    Cutter cutter(tables.first_track(process_index) + location.id, segments);
    std::vector<Region> begun;  // regions with the same begin
    const auto add_begun = [&] {
      std::stable_sort(begun.begin(), begun.end(),
                       [](const Region& a, const Region& b) { return a.end_ns > b.end_ns; });
      for (const Region& region : begun) cutter.add(region);
      begun.clear();
    };
    const auto calls = source.calls(rank, location.id);
    for (Call call; calls->next(call);) {
      const RegionDefinition* region = process.region(call.region);
      if (call.is_pending || region == nullptr) continue;
      if (!begun.empty() && begun.front().begin_ns != call.enter_ns) add_begun();
      begun.push_back({call.enter_ns, call.leave_ns, names.of(region->name), step_of(call),
                       !is_communication(region)});
    }
    add_begun();
    cutter.finish();
  }
}

RegionRun read_regions(const RecordSource& source, const analysis::MatchTables& tables) {
  RegionRun run;
  Names names;
  run.processes.resize(source.world_ranks().size());
  for (std::size_t i = 0; i < run.processes.size(); ++i)
    region_segments(source, tables, i, names, run.processes[i]);
  run.names = names.take();
  return run;
}

bool is_of_regions(const RecordSource& source) {
  bool has_regions = false;
  for (const std::int32_t rank : source.world_ranks()) {
    for (const RegionDefinition& region : source.process(rank).regions) {
      if (region.paradigm == Paradigm::kMpi) return false;
      has_regions |= region.paradigm == Paradigm::kUser;
    }
  }
  return has_regions;
}

}  // namespace megascope::segments
