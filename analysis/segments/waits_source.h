#pragma once

#include "analysis/segments/hidden_waits.h"
#include "core/record/source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::segments {

/// Name of the inserted calls in gaps that are in no annotated region.
inline constexpr const char* kHiddenWaitName = "work between MPI calls (synchronises inside)";

/// Presents a run of an MPI program with its hidden waits as calls. Each wait is a collective of
/// its group, on a synthetic communicator. Analyses of work, waits and causes can then treat hidden
/// waits like waits in MPI calls. Call::count of the inserted calls is 0, so that they do not count
/// as calls. Their region has CollectiveOp::kNone, so the correction of clocks does not use them.
/// Any thread may read after construction.
class WaitsSource final : public RecordSource {
 public:
  /// source: outlives the object; the definitions of every process of a group contain
  /// MPI_COMM_WORLD. waits: found in `source`. Copies the definitions of all processes.
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
  /// Returns how many collectives were inserted: one an instance, not one a rank.
  std::uint64_t instance_count() const { return instance_count_; }

 private:
  class Stream;
  struct Process {
    ProcessDefinitions definitions;
    std::vector<RegionId> regions;  ///< by operation
    std::vector<CommId>
        comms;  ///< by group: the synthetic communicator; kNoComm: the process is not a member
  };
  std::size_t index_of(std::int32_t world_rank) const;
  void add_definitions(std::size_t process_index, Process& process) const;

  const RecordSource& source_;
  HiddenWaits waits_;
  std::vector<Process> processes_;
  std::uint64_t instance_count_ = 0;
};

}  // namespace megascope::segments
