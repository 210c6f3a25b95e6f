#pragma once

#include "exporters/report/run_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::report {

/// A rank's share of its time that it spent in MPI, in 0 … 1; start-up (MPI_Init) is left out of
/// both. With several threads: of the time of all threads that called MPI.
double mpi_share(const RankRow& rank);

/// How the ranks' time divides. Start-up is left out everywhere.
struct TimeShares {
  double run = 0;  ///< of all ranks together, 0 … 1
  std::vector<const RankRow*>
      by_share;  ///< all ranks, ascending share; equal ones by rank. Valid as long as the report
  double median = 0;
  double imbalance = 0;  ///< 1 - mean / maximum of the time outside of MPI: 0 when all work equally
                         ///< long
  std::int32_t busiest_rank = -1;  ///< with the most time outside of MPI
  std::uint64_t wall_ns = 0;       ///< of the longest rank, start-up included
  std::uint64_t startup_ns = 0;    ///< the longest rank's
};

TimeShares time_shares(const RunReport& report);

/// Less than 10 ms after start-up: shares of it mean nothing.
bool is_too_short(const TimeShares& shares);

/// One or two plain sentences: what the shares tell about the run, and no more than they do. May be
/// empty.
std::string first_verdict(const RunReport& report, const TimeShares& shares);

}  // namespace megascope::report
