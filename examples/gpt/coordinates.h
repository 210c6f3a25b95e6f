/// \file
/// Coordinates of a rank in the grid of replicas (dp), tensor-parallel ranks (tp) and stages (pp).
#pragma once

#include "settings.h"

#include <mpi.h>

#include <vector>

namespace gpt {

/// One axis of the grid: the ranks that differ only in this coordinate.
struct Axis {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool is_first() const { return rank == 0; }
};

/// world rank = tp + TP * (dp + DP * pp), Megatron's order. Owns its communicators. Construction
/// and destruction are collective.
class GridCoordinates {
 public:
  explicit GridCoordinates(const Settings& settings);
  ~GridCoordinates();
  GridCoordinates(const GridCoordinates&) = delete;
  GridCoordinates& operator=(const GridCoordinates&) = delete;
  Axis tp;
  Axis dp;
  Axis pp;
  Axis model;  // one replica: all tp x pp ranks of the same dp
  // A duplicate of dp.comm for each chunk, because replicas may finish chunks in different orders.
  std::vector<MPI_Comm> dp_of_chunk;
  bool is_world_first = false;
};

/// Sums in place over an axis; no effect for one rank.
void sum_over(const Axis& axis, float* values, std::size_t count);

}  // namespace gpt
