#pragma once

/// MPI_Pcontrol(level): 0 stops recording, 1 resumes it, 2 writes what is still in memory to the
/// file; other levels are ignored. Applies to all threads of the process. MPI-4.1 §15.2.4.
namespace megascope::mpi {

/// The wrapper of MPI_Pcontrol calls them before and after the PMPI call, so that the call itself
/// is recorded. Any thread. They do nothing in a forked child or if nothing is recorded.
void before_pcontrol(int level) noexcept;
void after_pcontrol(int level) noexcept;

}  // namespace megascope::mpi
