#pragma once

#include "analysis/pieces/hidden_waits.h"
#include "core/record/source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::pieces {

/// The name of the inserted calls in gaps that no annotated region names.
inline constexpr const char* kHiddenWaitName = "work between MPI calls (synchronises inside)";

/// A run of an MPI program in which hidden waits are calls: each is a collective of its group, on a
/// communicator that does not exist. So what judges work between calls, waits and their causes
/// takes them for what they are. Such a call counts as no call (Call::count is 0) and imposes no
/// order on clocks (its region has no CollectiveOp).
class WaitsSource final : public RecordSource {
 public:
  /// source: outlives the object. Every process of a group knows MPI_COMM_WORLD.
  WaitsSource(const RecordSource& source, HiddenWaits waits);

  std::int32_t world_size() const override { return source_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return source_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return processes_[index_of(world_rank)].definitions;
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override {
    return source_.points(world_rank, location);
  }
  std::int64_t start_realtime_ns() const override { return source_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return source_.end_ns(); }

  const HiddenWaits& waits() const { return waits_; }
  /// How many collectives were inserted.
  std::uint64_t meeting_count() const { return meeting_count_; }

 private:
  class Stream;
  struct Process {
    ProcessDefinitions definitions;
    std::vector<RegionId> regions;  ///< by operation
    std::vector<CommId> comms;      ///< by group; kNoComm: the process is not in it
  };
  std::size_t index_of(std::int32_t world_rank) const;
  void add_definitions(std::size_t process_index, Process& process) const;

  const RecordSource& source_;
  HiddenWaits waits_;
  std::vector<Process> processes_;
  std::uint64_t meeting_count_ = 0;
};

}  // namespace megascope::pieces
