#pragma once

#include "exporters/report/run_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::report {

/// The fraction of a rank's time spent in MPI, 0 … 1. Start-up (MPI_Init) is excluded from both
/// times. With several threads: of the time of all threads that called MPI.
double mpi_share(const RankRow& rank);

/// Distribution of the ranks' time. Start-up is excluded everywhere, unless stated.
struct TimeShares {
  double run = 0;  ///< fraction of time in MPI over all ranks, 0 … 1
  /// All ranks by ascending fraction, then by rank. The pointers are valid as long as the report.
  std::vector<const RankRow*> by_share;
  double median = 0;
  double imbalance = 0;  ///< 1 - mean / maximum of the time outside MPI; 0: perfectly balanced
  std::int32_t busiest_rank = -1;  ///< rank with the most time outside MPI
  std::uint64_t wall_ns = 0;       ///< of the longest rank, including start-up
  std::uint64_t startup_ns = 0;    ///< of the rank with the longest start-up
};

TimeShares time_shares(const RunReport& report);

/// Whether the run lasts less than 10 ms after start-up, which makes fractions meaningless.
bool is_too_short(const TimeShares& shares);

/// One or two sentences that summarize the time in MPI. May be empty.
std::string first_verdict(const RunReport& report, const TimeShares& shares);

}  // namespace megascope::report
