/// \file
/// Where a rank stands in the grid of replicas, layer shares and stages.
#pragma once

#include "settings.h"

#include <mpi.h>

#include <vector>

namespace gpt {

/// One axis of the grid: the ranks that differ in this coordinate only.
struct Axis {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool is_first() const { return rank == 0; }
};

/// world rank = tp + TP * (dp + DP * pp): shares of a layer are neighbours, then replicas, then
/// stages (Megatron's order). Owns its communicators. Made and destroyed by all ranks together.
class Place {
 public:
  explicit Place(const Settings& settings);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  Axis tp;
  Axis dp;
  Axis pp;
  Axis model;  // one whole replica: all tp x pp ranks of the same dp
  std::vector<MPI_Comm>
      dp_of_chunk;  // like dp.comm: chunks may finish in another order on each replica
  bool is_world_first = false;
};

/// Adds up in place over an axis; nothing to do for one rank.
void sum_over(const Axis& axis, float* values, std::size_t count);

}  // namespace gpt
