#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/run_spec.h"

#include <cstdint>
#include <vector>

namespace megascope::synth {

/// Kind of an operation: work, or the MPI function of this name.
enum class OpKind : std::uint8_t { kWork, kSend, kRecv, kIsend, kIrecv, kWaitall, kAllreduce };

/// One operation of a rank's step. `peer` is the rank of the partner in `comm`, and `peer_world`
/// its world rank. Both are -1 if there is no partner.
struct Op {
  OpKind kind = OpKind::kWork;
  CommRole comm = CommRole::kWorld;
  std::int32_t peer = -1;
  std::int32_t peer_world = -1;
  std::int32_t tag = 0;
  std::int32_t work_units = 1;  ///< kWork: number of units of work with independent noise
  std::uint64_t amount = 0;     ///< kWork: total ns of all units; others: bytes
};

/// Return the operations of one step of a rank; all steps are equal. The spec must be valid
/// (check()).
std::vector<Op> grid_step(const RunSpec& spec, const Layout& layout, std::int32_t rank);
std::vector<Op> halo_step(const RunSpec& spec, std::int32_t rank);

}  // namespace megascope::synth
