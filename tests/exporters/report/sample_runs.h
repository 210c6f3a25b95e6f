#pragma once

#include "core/record/memory_source.h"
#include "exporters/report/run_report.h"

#include <cstdint>

namespace megascope::report {

/// A run of a synthetic solver: each rank sends 1000 bytes to its right neighbour (MPI_Isend,
/// MPI_Recv, MPI_Wait) and joins an MPI_Allreduce, `steps` times. A step takes 10 ms; the last rank
/// computes longest, all others wait for it in the MPI_Allreduce. MPI_Init takes 50 ms.
MemorySource sample_run(std::int32_t world_size, int steps);

/// The same as a report, with everything filled in that rank 0 adds at the end.
RunReport sample_report(std::int32_t world_size, int steps);

}  // namespace megascope::report
