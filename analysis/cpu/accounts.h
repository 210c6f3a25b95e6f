#pragma once

#include "analysis/cpu/cpu_times.h"
#include "core/record/shared_cores.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::cpu {

/// How one rank's judged thread spent the whole run. Times in ns.
struct Account {
  std::int32_t world_rank = 0;
  const RankCpu* times = nullptr;
  std::string host;         ///< empty: unknown
  double wall_ns = 0.0;     ///< time from the first to the last reading
  double outside_ns = 0.0;  ///< part of wall_ns outside of MPI
  double blocked_ns = 0.0;  ///< time outside of MPI neither on a processor nor waiting for one: the
                            ///< thread slept, was stopped, or waited for a disk or a lock
  double
      blocked_in_mpi_ns = 0.0;  ///< such time inside of MPI, in excess of that of the other ranks:
                                ///< the MPI library waited for something else than other ranks
  double core_wait_ns = 0.0;    ///< time waiting for a core, outside and inside of MPI
  double foreign_ns = 0.0;  ///< lower bound of the part of core_wait_ns in which something other
                            ///< than the judged threads of this run used the core
};

/// Returns the accounts of the ranks whose readings include the wait for a core, by ascending rank.
/// times: result of cpu_times(); must outlive the result. cpus: of all ranks.
///
/// Blocked time: the total is measured. Its division between outside and inside of MPI is measured
/// only in some intervals. Inside of MPI, a rank is expected to be blocked for the same fraction of
/// the time as the other ranks. The blocked time in excess of this is attributed to the time
/// outside of MPI in two cases: the rank spends more time outside of MPI than the others, by an
/// amount that can contain the excess; or readings show blocked time outside of MPI. Otherwise it
/// is attributed to MPI.
///
/// Foreign time: the time waiting for a core minus the CPU time of all ranks that may use one of
/// its cores. It is 0 if a control group grants less CPU time than the cores provide, because
/// threads then also wait for an idle core.
std::vector<Account> accounts_of(const std::vector<RankCpu>& times, std::span<const RankCpus> cpus);

}  // namespace megascope::cpu
