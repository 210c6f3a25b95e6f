#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/match/match_tables.h"
#include "analysis/pieces/piece.h"
#include "core/record/source.h"

namespace megascope::pieces {

/// A run of regions as if it were a program that calls MPI whenever it does not work: what its operations leave free are calls,
/// and all work lies between calls. So what judges work between MPI calls judges operations of devices as well. Messages are not
/// told: when a transfer of a device begins and ends says little of the link.
class WorkSource final : public RecordSource {
 public:
  /// source: is_of_regions(); outlives the object. Reads all records. Memory: 24 bytes an operation.
  WorkSource(const RecordSource& source, const analysis::MatchTables& tables);

  std::int32_t world_size() const override { return source_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return source_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t world_rank) const override { return workers_[index_of(world_rank)].definitions; }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return source_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return source_.end_ns(); }

  /// When each rank's steps end, by index in world_ranks(): of those that every rank has.
  const std::vector<std::vector<std::uint64_t>>& step_ends_ns() const { return step_ends_ns_; }
  /// The program's own numbers of those steps.
  const std::vector<std::int64_t>& step_numbers() const { return step_numbers_; }

 private:
  friend class FreeTimeStream;
  struct Interval {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct Worker {
    ProcessDefinitions definitions;
    std::vector<Interval> free;  ///< between which it works
  };
  struct Step {
    std::int64_t number = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<Interval> work;  ///< ascending, apart from each other
  };

  std::size_t index_of(std::int32_t world_rank) const;
  static std::vector<Step> steps_of(std::vector<Piece> pieces);
  void keep_common(const std::vector<std::vector<Step>>& steps);
  static std::vector<Interval> free_time(const std::vector<Step>& steps, const std::vector<std::int64_t>& numbers);

  const RecordSource& source_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::uint64_t>> step_ends_ns_;
  std::vector<std::int64_t> step_numbers_;
};

}  // namespace megascope::pieces
