#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/comm_table.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::analysis {

/// A location (thread) of a process with a trace, numbered from 0 over the run: by rank, then by
/// location.
using Track = std::uint32_t;

/// Completeness of a rank's trace.
struct RankState {
  bool has_trace = false;
  bool lacks_messages = false;  ///< calls may be missing anywhere, so that its messages cannot be
                                ///< matched by their order
  bool has_losses = false;      ///< calls are missing, possibly only at the end
  bool has_ended = false;       ///< it reached MPI_Finalize
};

/// States of all ranks, by world rank.
class RankStates {
 public:
  explicit RankStates(std::int32_t world_size)
      : states_(static_cast<std::size_t>(world_size > 0 ? world_size : 0)) {}
  /// Returns a state without trace for a rank outside of the run.
  const RankState& of(std::int32_t world_rank) const {
    return has(world_rank) ? states_[static_cast<std::size_t>(world_rank)] : none_;
  }
  void set(std::int32_t world_rank, const RankState& state) {
    if (has(world_rank)) states_[static_cast<std::size_t>(world_rank)] = state;
  }

 private:
  bool has(std::int32_t world_rank) const {
    return world_rank >= 0 && static_cast<std::size_t>(world_rank) < states_.size();
  }
  std::vector<RankState> states_;
  RankState none_;
};

/// The functions of a run. A function has the same number in all processes. The object refers to
/// names in `source`, which must outlive it.
class FunctionIndex {
 public:
  explicit FunctionIndex(const RecordSource& source);
  /// Returns the number of a process's region; 0 ("?") if it is unknown. process_index: in
  /// world_ranks().
  std::uint32_t of(std::size_t process_index, RegionId region) const {
    const auto& regions = by_region_[process_index];
    return region < regions.size() ? regions[region] : 0;
  }
  const FunctionTable::Function& function(std::uint32_t index) const { return functions_[index]; }
  std::size_t size() const { return functions_.size(); }

 private:
  std::vector<FunctionTable::Function> functions_;
  std::vector<std::vector<std::uint32_t>> by_region_;
};

/// The tables that the numbers in results of match_run() refer to: tracks, communicators,
/// functions. `source` must outlive the object. Immutable: any thread.
class MatchTables {
 public:
  explicit MatchTables(const RecordSource& source);

  struct TrackOwner {
    std::int32_t world_rank = 0;
    LocationId location = 0;
    std::uint32_t process_index = 0;  ///< index in source.world_ranks()
  };
  std::size_t track_count() const { return owners_.size(); }
  const TrackOwner& owner(Track track) const { return owners_[track]; }
  Track first_track(std::size_t process_index) const { return first_tracks_[process_index]; }
  std::uint32_t function_of(Track track, RegionId region) const {
    return functions.of(owners_[track].process_index, region);
  }

  CommTable comms;
  FunctionIndex functions;
  RankStates states;  ///< according to the traces' definitions; Matching::states also covers
                      ///< truncated traces

 private:
  std::vector<TrackOwner> owners_;
  std::vector<Track> first_tracks_;
};

}  // namespace megascope::analysis
