#pragma once

#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstdint>
#include <vector>

namespace megascope::cpu {

/// A part of a thread's time, and what the kernel charged to it in this part.
struct CpuSums {
  double wall_ns = 0.0;
  double cpu_ns = 0.0;
  double wait_ns = 0.0;   ///< runnable without a processor; 0 where the kernel does not report it
                          ///< (RankCpu::has_wait)
  double switches = 0.0;  ///< involuntary

  void add(const CpuSums& other) {
    wall_ns += other.wall_ns;
    cpu_ns += other.cpu_ns;
    wait_ns += other.wait_ns;
    switches += other.switches;
  }
};

/// Inside of MPI calls a thread may poll: CPU time there is no work, and a poll that yields waits
/// for a core with nothing to do.
struct SplitSums {
  CpuSums outside;
  CpuSums inside;

  void add(const SplitSums& other) {
    outside.add(other.outside);
    inside.add(other.inside);
  }
};

/// Of one rank's judged thread (detect::judged_location).
struct RankCpu {
  std::int32_t world_rank = 0;
  std::uint64_t reading_count = 0;
  bool has_wait = false;  ///< all readings have the wait for a core
  SplitSums whole;        ///< from the first to the last reading
  SplitSums measured;     ///< of `whole`, what is between readings that tell outside from inside by
                          ///< themselves
  std::vector<SplitSums> steps;  ///< by step; of what has readings around it
  double measured_share = 0.0;   ///< of the time of `whole`: between two readings with no call in
                                 ///< between, or all of it in one call. The rest is divided between
                                 ///< outside and inside as their measured parts are
  double interpolated_share = 0.0;  ///< of the time of `steps`: between readings with a step's
                                    ///< begin or end in between, divided by time

  bool has_readings() const { return reading_count > 1; }
};

/// steps: by index in world_ranks(), as detection found them; may be shorter. Result: by index in
/// world_ranks(). Streams points and calls of ranks that have readings, once; of others nothing.
/// Memory: some 100 bytes a reading. Throws what the source throws. jobs: threads to work with, the
/// caller's among them.
std::vector<RankCpu> cpu_times(const RecordSource& source,
                               const std::vector<detect::StepTimes>& steps, unsigned jobs);

/// The same without calls and steps: all of a rank's time is in whole.outside, and measured_share
/// is 0. Streams points only.
std::vector<RankCpu> cpu_sums(const RecordSource& source);

}  // namespace megascope::cpu
