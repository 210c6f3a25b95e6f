#pragma once

#include "core/record/memory_source.h"

#include <cstdint>
#include <memory>

namespace megascope::analysis {

/// A run of 4 × 4 × 4 ranks whose matching is known: messages and collectives carry their own
/// number as bytes.
struct RandomProgram {
  std::unique_ptr<MemorySource> source;
  std::uint64_t message_count = 0;
  std::uint64_t collective_count = 0;
};

/// Rounds of messages between random ranks (blocking, nonblocking, completed in any order, with
/// wildcards, of few tags) and of collectives on lines of the grid and on all. Each rank's clock is
/// off by up to `skew_ns`; times obey no causality.
RandomProgram random_program(std::uint32_t seed, std::uint64_t skew_ns);

}  // namespace megascope::analysis
