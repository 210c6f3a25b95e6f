#pragma once

#include "analysis/pieces/hidden_sync.h"
#include "analysis/pieces/program_gaps.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::pieces {

/// Where ranks of an MPI program wait for each other between MPI calls, as far as their times show
/// it: they spin on shared memory, take a lock, or call a library that synchronises. The shortest
/// member's time is the work; what the others took beyond it they waited, before the work.
struct HiddenWaits {
  struct Operation {
    std::string name;      ///< of the annotated region; empty: a gap that has none
    double time_ns = 0.0;  ///< of all members, the waits included
    double wait_ns = 0.0;  ///< the waits alone
  };
  struct Wait {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t operation = 0;
    std::uint32_t group = 0;
    std::uint32_t sequence = 0;  ///< among those of the group
  };
  std::vector<Operation> operations;
  std::vector<std::vector<std::uint32_t>> groups;  ///< processes, ascending
  std::vector<std::vector<Wait>> processes;        ///< in order of time; empty: there are none

  bool is_too_long = false;  ///< some were seen, but the run is too long to find them all: none is
                             ///< kept

  bool is_there() const { return !groups.empty(); }
};

/// specified: the parallel groups of the run; empty: all ranks with the same calls are tried as one
/// group, then members of each communicator, then ranks of each host. Looks at the first 40 steps
/// of each rank, and where these show something reads all of them, up to four million pieces of all
/// ranks. A step with more than some 20,000 calls is not looked at. Deterministic.
HiddenWaits find_hidden_waits(const RecordSource& source, const GapSteps& steps,
                              const Coordinates& specified);

}  // namespace megascope::pieces
