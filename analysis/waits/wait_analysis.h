#pragma once

#include "analysis/waits/critical_path.h"
#include "analysis/waits/delay_costs.h"
#include "analysis/waits/wait_states.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

/// Number and total time of some wait states.
struct WaitSum {
  std::uint64_t count = 0;
  std::uint64_t wait_ns = 0;

  void add(std::uint64_t time_ns) {
    ++count;
    wait_ns += time_ns;
  }
};

/// Sums over the threads of one rank.
struct RankWaits {
  std::int32_t world_rank = 0;
  std::uint64_t wall_ns = 0;  ///< time from the first call to the last return, summed over threads
  std::uint64_t mpi_ns = 0;   ///< part of wall_ns in MPI
  std::uint64_t suffered_ns = 0;
  double caused_ns = 0;       ///< defined in docs/analysis.md; the sum over ranks equals that of
                              ///< suffered_ns
  std::uint64_t path_ns = 0;  ///< time of the critical path on this rank
  WaitSum by_kind[kWaitKindCount];
};

/// Wait states of other tracks that waited directly for one track.
struct WaitedFor {
  std::array<WaitSum, kWaitKindCount> by_kind{};
  std::array<std::uint32_t, kWaitKindCount>
      waiter_counts{};             ///< by kind: number of tracks that waited
  std::uint32_t waiter_count = 0;  ///< number of tracks that waited, for any kind
};

/// Result of analyze_waits(). Times in ns.
struct WaitAnalysis {
  std::vector<RankWaits> ranks;  ///< by ascending rank
  WaitSum by_kind[kWaitKindCount];
  std::map<std::uint32_t, WaitSum> by_function;  ///< by index in FunctionIndex
  std::map<std::uint32_t, std::array<WaitSum, kWaitKindCount>> kinds_of_function;
  std::map<CommTable::Index, WaitSum> by_comm;
  std::vector<WaitedFor> waited_for;  ///< by track
  CollectiveCosts collectives;
  CriticalPath path;
  std::uint64_t wall_ns = 0;  ///< sum over threads
  std::uint64_t suffered_ns = 0;
};

/// Computes delay costs, critical path and sums. matching: result of the match_run() that filled
/// `waits`. jobs: number of threads; at most 2 are used.
WaitAnalysis analyze_waits(const WaitStates& waits, const Matching& matching,
                           const MatchTables& tables, unsigned jobs);

}  // namespace megascope::analysis
