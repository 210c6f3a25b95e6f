#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/hang/collective_order.h"
#include "analysis/hang/wants.h"

#include <cstdint>
#include <functional>
#include <vector>

/// Who waits for whom at the end of a run's records. docs/hang.md says what is told and what is
/// not.
namespace megascope::analysis {

/// Is a process there? As whoever opened the traces can tell.
enum class Life : std::uint8_t { kUnknown, kRuns, kGone };

/// How a rank's part of the run stands.
enum class Standing : std::uint8_t {
  kGoesOn,     ///< its trace has no end; its process may be gone with all others
  kFinalized,  ///< has entered MPI_Finalize
  kAborted,    ///< has called MPI_Abort
  kDied,       ///< its process is gone, and others of the run are there
  kMissing,    ///< no trace
};

/// One wait of a circle: a thread, what it wants, and who would have to do it.
struct CycleStep {
  std::int32_t world_rank = 0;
  std::uint32_t waiting = 0;  ///< in HangReport::waiting
  std::uint32_t want = 0;     ///< in its wants
  std::int32_t next = 0;      ///< world rank of the next step
};

/// A rank that does not wait itself and that others wait for, directly or through others.
struct Blame {
  std::int32_t world_rank = 0;
  std::size_t waiting_count = 0;  ///< ranks
};

struct HangReport {
  Processes processes;
  std::vector<Standing> standings;  ///< by world rank
  bool is_running = false;          ///< a process of the run is there
  std::vector<Waiting> waiting;     ///< by rank and location
  std::vector<bool> is_stuck;       ///< of each: nothing that the trace shows can release it
  std::vector<std::vector<CycleStep>> cycles;
  std::vector<Blame> blames;  ///< the most waited for first; at most kMaxBlames
  std::vector<Mismatch> mismatches;

  static constexpr std::size_t kMaxBlames = 16;
  std::size_t stuck_count() const;  ///< ranks
};

/// source, comms: outlive the result. life: asked once a process. jobs: threads to work with.
HangReport analyze_hang(const RecordSource& source, const CommTable& comms,
                        const std::function<Life(const ProcessInfo&)>& life, unsigned jobs);

/// nullptr: the thread does not wait.
const Waiting* find_waiting(const HangReport& report, std::int32_t world_rank, LocationId location);

/// The first part alone: where each process stands.
Processes read_processes(const RecordSource& source, unsigned jobs);

/// Has a process begun the collective of this number, as this function?
bool has_entered(const Processes& processes, const CommTable& comms, std::int32_t world_rank,
                 const Want& collective, std::string_view function);
/// World ranks that have not; those without a trace are left out.
std::vector<std::int32_t> not_entered(const HangReport& report, const CommTable& comms,
                                      const Waiting& waiting, const Want& collective);

}  // namespace megascope::analysis
