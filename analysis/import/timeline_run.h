#pragma once

#include "analysis/import/lanes.h"
#include "analysis/import/operation_table.h"
#include "analysis/import/parallel_grid.h"
#include "analysis/import/timeline.h"
#include "analysis/import/timeline_facts.h"
#include "core/base/status.h"
#include "core/record/source.h"

#include <map>
#include <memory>
#include <vector>

namespace megascope::importer {

/// Presents a timeline as a run: a worker is a process, a lane is a location, an operation is a
/// user region. Which messages and collectives an operation has comes from the file, or else from
/// the name of the operation (operation_table.h). Step, micro-batch, model chunk and sequence
/// number become values of the calls (FactKind::kValue).
class TimelineRun final : public RecordSource {
 public:
  /// Creates the run. grid: layout of the ranks. table: used only during the call. Returns an error
  /// if a track has coordinates outside of the grid, if there are no operations, or if there are
  /// more names, operations or overlapping operations than are supported.
  static Status make(Timeline timeline, const ParallelGrid& grid, const OperationTable& table,
                     std::unique_ptr<TimelineRun>& run);

  std::int32_t world_size() const override { return grid_.size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return workers_.at(world_rank).definitions;
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return 0; }
  std::uint64_t end_ns() const override { return end_ns_; }
  const Timeline& timeline() const { return timeline_; }

 private:
  friend class OperationStream;
  /// A group of a dimension.
  struct Group {
    std::uint64_t name = 0;
    std::vector<RankRun> members;
  };
  struct Worker {
    ProcessDefinitions definitions;
    GridCoordinates coordinates;
    std::vector<Lane> lanes;
    std::map<std::string, CommId> comms;  ///< by OperationSemantics::over
    std::vector<std::uint32_t> operations;
    const SpecifiedDefinitions* specified = nullptr;
  };

  TimelineRun(Timeline timeline, const ParallelGrid& grid, const OperationTable& table,
              const std::vector<std::int32_t>& rank_of_track);
  Status define_workers(const std::vector<std::int32_t>& rank_of_track);
  Status define(std::int32_t rank, Worker& worker);
  RegionDefinition region_of(std::uint32_t name) const;
  void define_groups(std::int32_t rank, Worker& worker);
  const Group& group_of(const std::string& over, const GridCoordinates& coordinates);
  void facts_of(const Worker& worker, std::uint32_t operation, std::vector<Fact>& facts) const;
  void specified_facts(const Operation& operation, std::vector<Fact>& facts) const;
  void message_facts(const Worker& worker, std::uint32_t operation, std::vector<Fact>& facts) const;

  Timeline timeline_;
  ParallelGrid grid_;
  std::vector<OperationSemantics> semantics_;  ///< by name
  MatchNumbers numbers_;
  std::vector<bool> is_work_;  ///< by name: true for operations that may enclose others
  std::map<std::pair<std::string, std::int32_t>, Group>
      groups_;  ///< by dimension and first member; shared by workers
  std::map<std::int32_t, Worker> workers_;
  std::vector<std::int32_t> ranks_;
  std::uint64_t end_ns_ = 0;
};

}  // namespace megascope::importer
