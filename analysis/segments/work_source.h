#pragma once

#include "analysis/segments/hidden_sync.h"
#include "analysis/segments/region_run.h"
#include "core/record/source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::segments {

/// Presents a run of regions (a run of annotated or imported operations, without MPI calls) as a
/// run of MPI calls: time outside of operations is a call, and operations are the work between
/// calls. detect::detect() can then judge the operations. Contains no messages and no collectives.
/// Any thread may read after construction.
class WorkSource final : public RecordSource {
 public:
  /// The work that each process does alone; work that contains synchronisation is omitted. source:
  /// outlives the object; `run` and `hidden` are used by the constructor only. Memory: 16 bytes a
  /// segment of work.
  WorkSource(const RecordSource& source, const RegionRun& run, const HiddenSync& hidden);
  /// The work that groups do in operations that synchronise over `dimensions`; other work is
  /// omitted. Each group is presented as one rank, its lowest. Of each execution of an operation,
  /// the duration of the shortest member counts as work. The steps are those of `own`. The
  /// RecordSource from which `own` was made must outlive this object; the arguments are used by the
  /// constructor only.
  WorkSource(const WorkSource& own, const RegionRun& run, const HiddenSync& hidden,
             const std::vector<std::string>& dimensions);

  std::int32_t world_size() const override { return source_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return world_ranks_; }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return workers_[index_of(world_rank)].definitions;
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return source_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return source_.end_ns(); }

  /// Returns the ends of each rank's steps, by index in world_ranks(): of steps that every rank has
  /// and that do not overlap the previous step by more than a tenth.
  const std::vector<std::vector<std::uint64_t>>& step_ends_ns() const { return step_ends_ns_; }
  /// Returns the application's numbers of those steps, ascending.
  const std::vector<std::int64_t>& step_numbers() const { return step_numbers_; }
  /// Returns, by index in world_ranks(), the world ranks of the group; for work of single
  /// processes, the rank itself.
  const std::vector<std::vector<std::int32_t>>& members() const { return members_; }

 private:
  friend class FreeTimeStream;
  struct Interval {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct Worker {
    ProcessDefinitions definitions;
    std::vector<Interval> free;  ///< the time between its work, ascending
  };
  class StepWork;
  struct Step {
    std::int64_t number = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<Interval> work;  ///< ascending, without overlap
  };

  std::size_t index_of(std::int32_t world_rank) const;
  void add_worker(std::int32_t world_rank, std::vector<std::int32_t> members);
  void keep_common(const std::vector<std::vector<Step>>& steps);
  std::vector<Interval> free_time(const std::vector<Step>& steps) const;

  const RecordSource& source_;
  std::vector<std::int32_t> world_ranks_;
  std::vector<std::vector<std::int32_t>> members_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::uint64_t>> step_ends_ns_;
  std::vector<std::int64_t> step_numbers_;
};

}  // namespace megascope::segments
