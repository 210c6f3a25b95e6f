#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/comm_table.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::analysis {

/// A location (thread) of a process with a trace, numbered over the run: by rank, then location.
using Track = std::uint32_t;

/// What a rank's trace can tell.
struct RankState {
  bool has_trace = false;
  bool lacks_messages = false;  ///< calls may miss anywhere: the order of its messages says nothing
  bool has_losses = false;      ///< calls miss, perhaps at the end only
  bool has_ended = false;       ///< it reached MPI_Finalize
};

/// By world rank.
class RankStates {
 public:
  explicit RankStates(std::int32_t world_size)
      : states_(static_cast<std::size_t>(world_size > 0 ? world_size : 0)) {}
  /// Of a rank that is none of the run: no trace.
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

/// The functions of a run, each once for all processes.
class FunctionIndex {
 public:
  explicit FunctionIndex(const RecordSource& source);
  /// process_index: in world_ranks(). 0 is an unknown one, "?".
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

/// What numbers mean in the results of a matched run. source: outlives it.
class MatchTables {
 public:
  explicit MatchTables(const RecordSource& source);

  struct Place {
    std::int32_t world_rank = 0;
    LocationId location = 0;
    std::uint32_t process_index = 0;  ///< in source.world_ranks()
  };
  std::size_t track_count() const { return places_.size(); }
  const Place& place(Track track) const { return places_[track]; }
  Track first_track(std::size_t process_index) const { return first_tracks_[process_index]; }
  std::uint32_t function_of(Track track, RegionId region) const {
    return functions.of(places_[track].process_index, region);
  }

  CommTable comms;
  FunctionIndex functions;
  RankStates states;  ///< as the traces' heads tell; Matching::states knows more

 private:
  std::vector<Place> places_;
  std::vector<Track> first_tracks_;
};

}  // namespace megascope::analysis
