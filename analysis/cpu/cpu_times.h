#pragma once

#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstdint>
#include <vector>

namespace megascope::cpu {

/// The length of a part of a thread's time, and the values of the kernel's counters for it.
struct CpuSums {
  double wall_ns = 0.0;
  double cpu_ns = 0.0;
  double wait_ns = 0.0;   ///< runnable but waiting for a core; 0 if the kernel does not report it
                          ///< (RankCpu::has_wait)
  double switches = 0.0;  ///< involuntary context switches

  void add(const CpuSums& other) {
    wall_ns += other.wall_ns;
    cpu_ns += other.cpu_ns;
    wait_ns += other.wait_ns;
    switches += other.switches;
  }
};

/// Sums outside and inside of MPI calls. They are separate because a call may poll. CPU time inside
/// of a call is therefore not work, and a thread that yields the core while it polls waits for a
/// core although it has no work.
struct SplitSums {
  CpuSums outside;
  CpuSums inside;

  void add(const SplitSums& other) {
    outside.add(other.outside);
    inside.add(other.inside);
  }
};

/// Sums of one rank's judged thread (detect::judged_location). A *reading* is a sample of the
/// kernel's counters of a thread. Shares are from 0 to 1.
struct RankCpu {
  std::int32_t world_rank = 0;
  std::uint64_t reading_count = 0;
  bool has_wait = false;  ///< all readings include the wait for a core
  SplitSums whole;        ///< sums from the first to the last reading
  SplitSums measured;     ///< part of `whole` from intervals between readings that are entirely
                          ///< outside or entirely inside of calls
  std::vector<SplitSums>
      steps;                    ///< by step; covers the time between the first and the last reading
  double measured_share = 0.0;  ///< share of the time of `whole` in `measured`. The rest is
                                ///< estimated from the rates in `measured`
  double
      interpolated_share = 0.0;  ///< share of the time of `steps` from intervals that contain the
                                 ///< start or end of a step; they are divided in proportion to time

  bool has_readings() const { return reading_count > 1; }
  /// Returns the sums outside and inside of MPI together, from the first to the last reading.
  CpuSums all() const {
    CpuSums sums = whole.outside;
    sums.add(whole.inside);
    return sums;
  }
  /// Returns whether at least half of the division of `whole` between outside and inside is
  /// measured.
  bool is_measured() const { return measured_share >= 0.5; }
  /// Returns whether more than half of the CPU times of single steps was divided in proportion to
  /// time. They then reflect only the lengths of the steps.
  bool is_interpolated() const { return interpolated_share > 0.5; }
};

/// Computes the sums of all ranks, by index in world_ranks(). steps: by index in world_ranks(), as
/// detection found them. May have fewer entries than ranks; ranks without an entry have no steps.
/// jobs: number of threads including the caller. Reads the points of the judged thread once, and
/// its MPI calls if there are at least two readings. Memory: about 100 bytes per reading. Passes on
/// exceptions of the source.
std::vector<RankCpu> cpu_times(const RecordSource& source,
                               const std::vector<detect::StepTimes>& steps, unsigned jobs);

/// Computes only the sums of all ranks, without reading calls and steps: all of a rank's time is in
/// whole.outside, and measured_share is 0. Result by index in world_ranks(). Reads points only.
std::vector<RankCpu> cpu_sums(const RecordSource& source);

}  // namespace megascope::cpu
