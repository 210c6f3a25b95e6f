#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace megascope::importer {

/// What a call of a communication library does, by its name.
struct CommunicationName {
  enum class Kind : std::uint8_t {
    kNone,
    kCollective,
    kSend,
    kReceive,
    kOther
  };  ///< kOther: communication, not known which
  Kind kind = Kind::kNone;
  CollectiveOp op = CollectiveOp::kNone;
  RegionRole role = RegionRole::kCode;
};

/// name: as PyTorch writes "Collective name" ("_allgather_base", "all_to_allv"), or a kernel of
/// NCCL or RCCL
/// ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)"). Case, '_' and '-' do not count.
CommunicationName communication_of(std::string_view name);

/// Bytes of an element: "Float", "BFloat16", "float32" …; 0 where the type is not known.
std::uint64_t element_bytes(std::string_view type);

}  // namespace megascope::importer
