#include "analysis/waits/wait_analysis.h"

#include "analysis/common/parallel.h"

#include <utility>

namespace megascope::analysis {
namespace {

RankWaits& rank_of(WaitAnalysis& analysis, std::int32_t world_rank) {
  if (analysis.ranks.empty() || analysis.ranks.back().world_rank != world_rank) {
    analysis.ranks.emplace_back().world_rank = world_rank;
  }
  return analysis.ranks.back();
}

/// Wait states of one track, summed by the track it waited for.
class WaitsByRootCause {
 public:
  explicit WaitsByRootCause(std::size_t track_count) : sums_(track_count) {}

  void add(const ClassifiedWaitPoint& wait_point) {
    const Track root_cause = wait_point.root_cause();
    if (root_cause >= sums_.size()) return;
    Sums& sums = sums_[root_cause];
    if (!sums.is_touched) touched_.push_back(root_cause);
    sums.is_touched = true;
    sums.by_kind[wait_point.kind_bits].add(wait_point.wait_ns);
  }
  /// Adds the sums to `all` and resets them.
  void move_to(std::vector<WaitedFor>& all) {
    for (const Track root_cause : touched_) {
      const Sums sums = std::exchange(sums_[root_cause], {});
      WaitedFor& waited = all[root_cause];
      ++waited.waiter_count;
      for (std::size_t kind = 0; kind < kWaitKindCount; ++kind) {
        waited.by_kind[kind].count += sums.by_kind[kind].count;
        waited.by_kind[kind].wait_ns += sums.by_kind[kind].wait_ns;
        waited.waiter_counts[kind] += sums.by_kind[kind].count != 0 ? 1 : 0;
      }
    }
    touched_.clear();
  }

 private:
  struct Sums {
    std::array<WaitSum, kWaitKindCount> by_kind{};
    bool is_touched = false;
  };
  std::vector<Sums> sums_;  ///< by track
  std::vector<Track> touched_;
};

void add_waits(WaitAnalysis& analysis, WaitsByRootCause& by_root_cause, RankWaits& rank,
               const GrowingArray<ClassifiedWaitPoint>& wait_points, const MatchTables& tables,
               Track track) {
  std::vector<std::array<WaitSum, kWaitKindCount>> by_region;
  std::vector<WaitSum> by_comm(tables.comms.size());
  for (const ClassifiedWaitPoint& wait_point : wait_points) {
    if (wait_point.wait_ns == 0) continue;
    if (wait_point.region >= by_region.size()) by_region.resize(std::size_t{wait_point.region} + 1);
    by_region[wait_point.region][wait_point.kind_bits].add(wait_point.wait_ns);
    rank.by_kind[wait_point.kind_bits].add(wait_point.wait_ns);
    by_root_cause.add(wait_point);
    if (wait_point.comm < by_comm.size()) by_comm[wait_point.comm].add(wait_point.wait_ns);
  }
  by_root_cause.move_to(analysis.waited_for);
  const auto merge = [](WaitSum& sum, const WaitSum& part) {
    sum.count += part.count;
    sum.wait_ns += part.wait_ns;
  };
  for (std::size_t region = 0; region < by_region.size(); ++region) {
    const std::uint32_t function = tables.function_of(track, static_cast<RegionId>(region));
    for (std::size_t kind = 0; kind < kWaitKindCount; ++kind) {
      const WaitSum& sum = by_region[region][kind];
      if (sum.count == 0) continue;
      merge(analysis.by_function[function], sum);
      merge(analysis.kinds_of_function[function][kind], sum);
    }
  }
  for (CommTable::Index comm = 0; comm < by_comm.size(); ++comm) {
    if (by_comm[comm].count != 0) merge(analysis.by_comm[comm], by_comm[comm]);
  }
}

}  // namespace

WaitAnalysis analyze_waits(const WaitStates& waits, const Matching& matching,
                           const MatchTables& tables, unsigned jobs) {
  WaitAnalysis analysis;
  DelayCosts costs;
  for_each_index(2, jobs, [&](std::size_t part) {
    if (part == 0) {
      costs = delay_costs(waits.wait_points());
    } else {
      analysis.path = critical_path(waits.wait_points(), matching.tracks, tables);
      analysis.waited_for.resize(tables.track_count());
      WaitsByRootCause by_root_cause(tables.track_count());
      for (Track track = 0; track < tables.track_count(); ++track) {
        add_waits(analysis, by_root_cause, rank_of(analysis, tables.owner(track).world_rank),
                  waits.wait_points()[track], tables, track);
      }
    }
  });
  auto rank = analysis.ranks.begin();
  for (Track track = 0; track < tables.track_count(); ++track) {
    while (rank->world_rank != tables.owner(track).world_rank) ++rank;
    const TrackTotals& totals = matching.tracks[track];
    rank->wall_ns += totals.call_count == 0 ? 0 : totals.last_ns - totals.first_ns;
    rank->mpi_ns += totals.mpi_ns;
    rank->suffered_ns += costs.suffered_ns[track];
    rank->caused_ns += costs.caused_ns[track];
    rank->path_ns += analysis.path.by_track_ns[track];
  }
  for (const RankWaits& one : analysis.ranks) {
    analysis.wall_ns += one.wall_ns;
    analysis.suffered_ns += one.suffered_ns;
    for (std::size_t kind = 0; kind < kWaitKindCount; ++kind) {
      analysis.by_kind[kind].count += one.by_kind[kind].count;
      analysis.by_kind[kind].wait_ns += one.by_kind[kind].wait_ns;
    }
  }
  analysis.collectives = waits.collective_costs();
  return analysis;
}

}  // namespace megascope::analysis
