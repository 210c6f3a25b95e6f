#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace megascope::importer {

/// Type of a call of a communication library, derived from its name.
struct CommunicationName {
  enum class Kind : std::uint8_t {
    kNone,        ///< not communication
    kCollective,  ///< a collective; its operation is `op`
    kSend,
    kReceive,
    kOther  ///< communication of unknown type
  };
  Kind kind = Kind::kNone;
  CollectiveOp op = CollectiveOp::kNone;
  RegionRole role = RegionRole::kCode;
};

/// Returns the type of a call. name: PyTorch's "Collective name" ("_allgather_base",
/// "all_to_allv"), or a kernel of NCCL or RCCL ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)").
/// Case, '_' and '-' are ignored.
CommunicationName communication_of(std::string_view name);

/// Returns the size in bytes of an element of a type, for example "Float", "BFloat16" or "float32";
/// 0 if the type is unknown.
std::uint64_t element_bytes(std::string_view type);

}  // namespace megascope::importer
