#pragma once

#include "exporters/report/run_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::report {

/// Returns the fraction of a rank's time spent in MPI, 0 to 1. If a rank has several threads, its
/// time is the sum over the threads that called MPI. Both times exclude start-up (MPI_Init).
double mpi_share(const RankRow& rank);

/// Distribution of the ranks' time. All values exclude start-up, except those whose comment states
/// otherwise.
struct TimeShares {
  double run = 0;  ///< fraction of the time of all ranks that was spent in MPI, 0 to 1
  /// All ranks, in ascending order of mpi_share(), then of rank. The pointers are valid as long as
  /// the report.
  std::vector<const RankRow*> by_share;
  double median = 0;
  double imbalance = 0;  ///< 1 - mean / maximum of the time outside MPI; 0: perfectly balanced
  std::int32_t busiest_rank = -1;  ///< rank with the most time outside MPI
  std::uint64_t wall_ns = 0;       ///< time of the rank with the longest time, including start-up
  std::uint64_t startup_ns = 0;    ///< start-up time of the rank with the longest one
};

TimeShares time_shares(const RunReport& report);

/// Returns whether the run lasts less than 10 ms after start-up. Fractions of its time are then
/// meaningless.
bool is_too_short(const TimeShares& shares);

/// Returns one or two sentences that summarize the time in MPI. Empty if the report has no ranks.
std::string first_verdict(const RunReport& report, const TimeShares& shares);

}  // namespace megascope::report
