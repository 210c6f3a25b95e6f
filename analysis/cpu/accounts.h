#pragma once

#include "analysis/cpu/cpu_times.h"
#include "core/record/shared_cores.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::cpu {

/// What one rank's judged thread did in the whole run, outside of MPI as far as that can be told.
/// ns.
struct Account {
  std::int32_t world_rank = 0;
  const RankCpu* times = nullptr;
  std::string host;         ///< empty: not known
  double wall_ns = 0.0;     ///< from the first to the last reading
  double outside_ns = 0.0;  ///< of it outside of MPI
  double blocked_ns = 0.0;  ///< outside of MPI, neither on a processor nor waiting for one: it
                            ///< slept, was stopped, waited for a disk or a lock
  double blocked_in_mpi_ns = 0.0;  ///< the same in MPI, beyond what the other ranks are there: the
                                   ///< library waited for more than other ranks
  double core_wait_ns = 0.0;       ///< all of its waits for a core
  double foreign_ns = 0.0;  ///< of these, at least: while something that is no judged thread of
                            ///< this run had the core
};

/// Of ranks with readings that have the wait for a core; ascending. times: of cpu_times(), outlives
/// the result. cpus: of all ranks.
///
/// How long a rank is blocked in all is known; readings tell where only of samples. It is blocked
/// in MPI as much as the other ranks are there, where a call waits for others. What it is beyond
/// that was outside if it is outside of MPI so much longer than the others, or the samples say so.
/// Where a rank waits for a core, somebody has it: its fellows, ranks that may use one of its
/// cores, for as long as they computed, or something else. Control groups that grant less than
/// their cores make threads wait for idle cores: then nothing is foreign.
std::vector<Account> accounts_of(const std::vector<RankCpu>& times, std::span<const RankCpus> cpus);

}  // namespace megascope::cpu
