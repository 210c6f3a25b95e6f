#pragma once

#include "analysis/detect/peers.h"
#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// How much the work of a replica varies from step to step.
struct ReplicaVariation {
  std::vector<double> mean;  ///< by step: mean log factor of its ranks
  double variation = 0.0;    ///< standard deviation of `mean` over the steps
  double noise = 0.0;        ///< the standard deviation that independent ranks would show
  bool is_there = false;     ///< true: the ranks of the replica vary together, that is, variation >
                             ///< max(0.01, 3 × noise)
};

/// Returns how much the work of each replica varies from step to step, in the order of
/// peers.replicas. A replica is the set of ranks that hold one copy of the model. Returns an empty
/// vector if there are fewer than two replicas, fewer than two steps, or a replica with a single
/// rank, whose variation cannot be distinguished from noise.
std::vector<ReplicaVariation> replica_variations(const WorkSeries& work, const Peers& peers);

/// Returns one unit with all ranks of all replicas (kReplicas) if there are at least three replicas
/// and more than half of them vary. Otherwise SlowUnit::ranks of the result is empty.
SlowUnit varying_replicas(const std::vector<ReplicaVariation>& variations, const Peers& peers);

}  // namespace megascope::detect
