#pragma once

#include "analysis/waits/critical_path.h"
#include "analysis/waits/delay_costs.h"
#include "analysis/waits/wait_states.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

struct WaitSum {
  std::uint64_t count = 0;
  std::uint64_t wait_ns = 0;

  void add(std::uint64_t time_ns) {
    ++count;
    wait_ns += time_ns;
  }
};

/// One rank, over its threads.
struct RankWaits {
  std::int32_t world_rank = 0;
  std::uint64_t wall_ns = 0;  ///< from its first call to its last return, of each thread
  std::uint64_t mpi_ns = 0;   ///< of it in MPI
  std::uint64_t suffered_ns = 0;
  double caused_ns = 0;  ///< as docs/analysis.md defines it; over all ranks equal to suffered_ns
  std::uint64_t path_ns = 0;  ///< of the critical path
  WaitSum by_kind[kWaitKindCount];
};

/// What others waited for one track directly.
struct WaitedFor {
  std::array<WaitSum, kWaitKindCount> by_kind{};
  std::array<std::uint32_t, kWaitKindCount> waiter_counts{};  ///< tracks
  std::uint32_t waiter_count = 0;                             ///< tracks, of any kind
};

struct WaitAnalysis {
  std::vector<RankWaits> ranks;  ///< ascending
  WaitSum by_kind[kWaitKindCount];
  std::map<std::uint32_t, WaitSum> by_function;  ///< FunctionIndex
  std::map<std::uint32_t, std::array<WaitSum, kWaitKindCount>> kinds_of_function;
  std::map<CommTable::Index, WaitSum> by_comm;
  std::vector<WaitedFor> waited_for;  ///< by track
  CollectiveCosts collectives;
  CriticalPath path;
  std::uint64_t wall_ns = 0;  ///< sum over threads
  std::uint64_t suffered_ns = 0;
};

/// jobs: threads. matching: of the pass that filled `waits`.
WaitAnalysis analyze_waits(const WaitStates& waits, const Matching& matching,
                           const MatchTables& tables, unsigned jobs);

}  // namespace megascope::analysis
