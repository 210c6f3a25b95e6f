#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/hang/collective_order.h"
#include "analysis/hang/wants.h"

#include <cstdint>
#include <functional>
#include <vector>

/// Analysis of hangs: which rank waits for which other rank at the end of a run's records.
/// docs/hang.md lists what is found and what is not. Times in ns.
namespace megascope::analysis {

/// Whether a process exists. The caller of analyze_hang(), who opened the traces, determines it.
enum class Existence : std::uint8_t {
  kUnknown,  ///< the caller cannot determine it
  kExists,   ///< the process exists
  kGone      ///< the process no longer exists
};

/// State of a rank at the end of its records.
enum class RankEnd : std::uint8_t {
  kUnfinished,  ///< its trace has neither MPI_Finalize nor MPI_Abort, and kDied does not apply. If
                ///< no process of the run exists, the process is gone as well
  kFinalized,   ///< the rank has entered MPI_Finalize
  kAborted,     ///< the rank has called MPI_Abort
  kDied,        ///< its process is gone, but other processes of the run exist
  kMissing,     ///< the rank has no trace
};

/// One edge of a wait-for cycle: a waiting thread, what it waits for, and the rank for which it
/// waits.
struct CycleStep {
  std::int32_t world_rank = 0;
  std::uint32_t waiting = 0;  ///< index in HangReport::waiting
  std::uint32_t want = 0;     ///< index in Waiting::wants
  std::int32_t next = 0;      ///< world rank of the next step
};

/// A rank that does not wait itself but that other ranks wait for, directly or through other ranks.
struct AwaitedRank {
  std::int32_t world_rank = 0;
  std::size_t waiting_count = 0;  ///< number of ranks that wait for it
};

/// Result of analyze_hang().
struct HangReport {
  Processes processes;
  std::vector<RankEnd> rank_ends;  ///< by world rank
  bool is_running = false;         ///< a process of the run exists
  std::vector<Waiting> waiting;    ///< waiting threads, ascending by rank, then location
  std::vector<bool> is_stuck;      ///< by index in `waiting`: true if, according to the traces, the
                                   ///< thread can never continue
  std::vector<std::vector<CycleStep>> cycles;
  std::vector<AwaitedRank>
      awaited_ranks;  ///< descending by waiting_count; at most kMaxAwaitedRanks
  std::vector<Mismatch> mismatches;

  static constexpr std::size_t kMaxAwaitedRanks = 16;
  std::size_t stuck_count() const;  ///< number of ranks with a stuck thread
};

/// Analyses a run. source, comms: must outlive the result. existence: called once for each process
/// with a trace, by the calling thread. jobs: number of threads. Reads all calls once, and those of
/// processes with open messages a second time.
HangReport analyze_hang(const RecordSource& source, const CommTable& comms,
                        const std::function<Existence(const ProcessInfo&)>& existence,
                        unsigned jobs);

/// Returns the wait of a thread; nullptr if it does not wait. Valid as long as the report.
const Waiting* find_waiting(const HangReport& report, std::int32_t world_rank, LocationId location);

/// Reads the state of each process. This is the first step of analyze_hang(). source: must outlive
/// the result.
Processes read_processes(const RecordSource& source, unsigned jobs);

/// Returns whether a process has begun collective number `collective.sequence` by calling
/// `function`. `function` is compared only if this is the last collective of the process; the
/// functions of earlier ones are not kept.
bool has_entered(const Processes& processes, const CommTable& comms, std::int32_t world_rank,
                 const Want& collective, std::string_view function);
/// Returns the world ranks of the members that have a trace and have not entered the collective
/// that `waiting` waits for, ascending.
std::vector<std::int32_t> not_entered(const HangReport& report, const CommTable& comms,
                                      const Waiting& waiting, const Want& collective);

}  // namespace megascope::analysis
