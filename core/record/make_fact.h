#pragma once

#include "core/record/call.h"

#include <cstdint>

/// Makes facts that are not about files (file_fact.h) or values (value_fact.h), for producers other
/// than the wrappers.
namespace megascope {

/// The call did not return.
constexpr Fact left_fact() { return {.kind = FactKind::kLeft}; }

/// Bytes that a local call packed, allocated or measured.
constexpr Fact local_bytes_fact(std::uint64_t bytes) {
  return {.kind = FactKind::kLocalBytes, .bytes = bytes};
}

/// A blocking collective without root. sequence: number among the collectives on comm.
constexpr Fact collective_fact(CommId comm, std::uint32_t sequence) {
  return {.kind = FactKind::kCollective, .comm = comm, .sequence = sequence};
}

}  // namespace megascope
