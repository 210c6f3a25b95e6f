#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/point.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace megascope {

/// Interface through which readers access a run: the definitions of each process and the calls of
/// each location. Times are in ns since the start of the run, on one common clock. In a parallel
/// export a member sees only the processes assigned to it. Thread-safe for reading. Returned
/// references are valid as long as the source.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  /// Returns the number of ranks of the run, including those whose trace is missing.
  virtual std::int32_t world_size() const = 0;
  /// Returns the world ranks whose traces are available, ascending.
  virtual const std::vector<std::int32_t>& world_ranks() const = 0;
  /// Returns the definitions of a process. world_rank: one of world_ranks().
  virtual const ProcessDefinitions& process(std::int32_t world_rank) const = 0;
  /// Returns a new stream from the beginning. location: one of the process's. Annotated regions are
  /// calls as well, in one order with MPI calls (user_regions.h distinguishes them).
  virtual std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const = 0;
  /// Returns the annotations at single moments, with times as those of calls(); nullptr if there
  /// are none.
  virtual std::unique_ptr<PointStream> points(std::int32_t /*world_rank*/,
                                              LocationId /*location*/) const {
    return nullptr;
  }
  /// Returns the wall-clock time of ns 0 of the run, in ns since the epoch.
  virtual std::int64_t start_realtime_ns() const = 0;
  /// Returns an upper bound of all times of this source's calls, in ns since the start of the run.
  virtual std::uint64_t end_ns() const = 0;
};

}  // namespace megascope
