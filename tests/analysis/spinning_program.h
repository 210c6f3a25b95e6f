#pragma once

#include "core/record/memory_source.h"

#include <cstdint>
#include <vector>

namespace megascope {

/// A synthetic MPI program whose ranks synchronise where no call shows it. Each step: own work,
/// MPI_Pack, then `backward`: own work again, after which members of a group wait for each other;
/// then MPI_Allreduce over all ranks.
struct SpinningProgram {
  std::int32_t ranks = 4;
  std::int32_t group_size = 4;  ///< ranks 0 … size-1 are the first group
  std::int32_t steps = 30;
  std::vector<double> before = {1, 1, 1, 1};  ///< by rank: factor of the work before
  std::vector<double> inside = {1, 1, 1, 1};  ///< by rank: factor of the work inside
  double noise = 0.01;
  bool has_hidden_sync = true;
  std::int32_t sync_every = 1;              ///< steps
  bool has_regions = false;                 ///< `backward` is annotated
  bool has_steps = false;                   ///< annotated
  bool has_communicators = true;            ///< each group has one
  std::int32_t extra_calls_from = 1 << 30;  ///< every third step from this one on has another call
  std::vector<std::int64_t> clock_ns = {0, 0, 0, 0};  ///< by rank: its clock is ahead by so much
  std::int32_t calls_in_work = 0;        ///< MPI_Pack within the work before, in each step
  double common_factor_from_half = 1.0;  ///< of all work, from the middle of the run on

  static constexpr double kBeforeNs = 2e6;
  static constexpr double kInsideNs = 2e6;

  MemorySource run() const;
};

}  // namespace megascope
