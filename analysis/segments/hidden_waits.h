#pragma once

#include "analysis/segments/hidden_sync.h"
#include "analysis/segments/program_gaps.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::segments {

/// Waits of the ranks of an MPI program for each other between MPI calls, inferred from their
/// times: ranks poll shared memory, take a lock, or call a library that synchronises. The shortest
/// member's time counts as work. The rest of each other member's time counts as waiting, and is
/// placed before the work.
struct HiddenWaits {
  struct Operation {
    std::string name;      ///< name of the annotated region; empty: the gap is in no region
    double time_ns = 0.0;  ///< time of all members, including waits
    double wait_ns = 0.0;  ///< waiting time of all members
  };
  /// One wait of one process, in ns of the source's clock.
  struct Wait {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t operation = 0;
    std::uint32_t group = 0;     ///< index in `groups`
    std::uint32_t sequence = 0;  ///< number of the instance among those of its group, from 0
  };
  std::vector<Operation> operations;
  std::vector<std::vector<std::uint32_t>>
      groups;  ///< by group: indices of its processes, ascending
  std::vector<std::vector<Wait>>
      processes;  ///< by process: in order of begin; empty: there are no waits

  bool is_too_long = false;  ///< true: waits were seen, but the run has too many segments to find
                             ///< them all. No waits are returned

  /// Returns whether any waits were found.
  bool is_there() const { return !groups.empty(); }
};

/// Finds the hidden waits of a run of an MPI program. steps: its steps.
/// specified: the coordinates of its ranks in parallel groups. If empty, these divisions of the
/// ranks are tried in turn: ranks with the same sequence of calls; members of each of the first 16
/// communicators; ranks of each host. Reads the first 40 steps of each rank. If these show waits,
/// reads all steps, up to four million segments of all ranks. Returns an empty result for fewer
/// than two ranks. If a step has more segments than a million divided by the number of ranks, waits
/// in it are not found. Deterministic.
HiddenWaits find_hidden_waits(const RecordSource& source, const GapSteps& steps,
                              const Coordinates& specified);

}  // namespace megascope::segments
