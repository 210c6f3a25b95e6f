#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/point.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace megascope {

/// What readers of a run see: definitions, then calls per location, in ns since the run's start on
/// one common clock. A member of a parallel export sees the processes that it is responsible for:
/// in the job its own, offline its share. Thread-safe for reading; returned references live as long
/// as the source.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  /// Ranks of the run, also those whose trace is not here.
  virtual std::int32_t world_size() const = 0;
  /// World ranks whose traces are here, ascending.
  virtual const std::vector<std::int32_t>& world_ranks() const = 0;
  /// world_rank: one of world_ranks().
  virtual const ProcessDefinitions& process(std::int32_t world_rank) const = 0;
  /// A new stream from the beginning. location: one of the process's. Regions of the program are
  /// calls as well, in one order with those of MPI (user_regions.h tells them apart).
  virtual std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const = 0;
  /// What the program told of moments there, in the same times; nullptr: nothing.
  virtual std::unique_ptr<PointStream> points(std::int32_t /*world_rank*/,
                                              LocationId /*location*/) const {
    return nullptr;
  }
  /// Wall-clock time of ns 0 of the run: ns since the epoch.
  virtual std::int64_t start_realtime_ns() const = 0;
  /// An upper bound of all times that calls of this source have (ns since the run's start).
  virtual std::uint64_t end_ns() const = 0;
};

}  // namespace megascope
