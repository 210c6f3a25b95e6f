#pragma once

/// MPI_Pcontrol(level): 0 stops recording, 1 resumes it, 2 writes what is still in memory to the
/// file; other levels are ignored. For the whole process. MPI-4.1 §15.2.4.
namespace megascope::mpi {

/// Called before and after the call, which is recorded itself. Any thread. Do nothing in a forked
/// child or if nothing is recorded.
void before_pcontrol(int level) noexcept;
void after_pcontrol(int level) noexcept;

}  // namespace megascope::mpi
