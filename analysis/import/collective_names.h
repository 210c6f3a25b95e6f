#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace megascope::importer {

/// Type of a call of a communication library, derived from its name.
struct CommunicationName {
  enum class Kind : std::uint8_t {
    kNone,
    kCollective,
    kSend,
    kReceive,
    kOther
  };  ///< kOther: communication of unknown type
  Kind kind = Kind::kNone;
  CollectiveOp op = CollectiveOp::kNone;
  RegionRole role = RegionRole::kCode;
};

/// name: PyTorch's "Collective name" ("_allgather_base", "all_to_allv"), or a kernel of NCCL or
/// RCCL ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)"). Case, '_' and '-' are ignored.
CommunicationName communication_of(std::string_view name);

/// Size in bytes of an element of a type ("Float", "BFloat16", "float32" …); 0: unknown type.
std::uint64_t element_bytes(std::string_view type);

}  // namespace megascope::importer
