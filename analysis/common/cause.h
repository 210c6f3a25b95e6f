#pragma once

#include <cstdint>
#include <string>

namespace megascope::analysis {

/// Kinds of root causes: why a run is slow.
enum class Cause : std::uint8_t {
  kSlowCompute,     ///< a rank, or a group of ranks, computes slower than its peers
  kSlowHost,        ///< all ranks of a host compute slower than their peers
  kSlowLink,        ///< messages between two ranks take longer
  kHostStall,       ///< a rank pauses between operations; the rest of its work takes as long as its
                    ///< peers'
  kStageImbalance,  ///< a pipeline stage has more work than the others, in every replica
  kInputImbalance,  ///< the amount of work of a replica varies from step to step
  kBlocked,         ///< a rank neither computes nor waits for a core (analysis/cpu/whole_run.h)
  kPreempted,       ///< waiting for a core explains the slowness (analysis/cpu/preempted.h)
};

/// Returns the name of the cause in reports and JSON, and of the synthetic fault that has it.
inline std::string name_of(Cause cause) {
  switch (cause) {
    case Cause::kSlowCompute:
      return "slow_compute";
    case Cause::kSlowHost:
      return "slow_host";
    case Cause::kSlowLink:
      return "slow_link";
    case Cause::kHostStall:
      return "host_stall";
    case Cause::kStageImbalance:
      return "stage_imbalance";
    case Cause::kInputImbalance:
      return "input_imbalance";
    case Cause::kBlocked:
      return "blocked";
    case Cause::kPreempted:
      return "preempted";
  }
  return {};
}

}  // namespace megascope::analysis
