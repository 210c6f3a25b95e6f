#pragma once

/// MPI_Pcontrol(level): 0 stops recording, 1 resumes it, 2 writes out what is still in memory;
/// other levels say nothing to us. For the whole process. MPI-4.1 §15.2.4.
namespace megascope::mpi {

/// Around the call, which is recorded itself. Any thread; nothing happens in a forked child or when
/// nothing is recorded.
void before_pcontrol(int level) noexcept;
void after_pcontrol(int level) noexcept;

}  // namespace megascope::mpi
