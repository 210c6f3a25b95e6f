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
  bool is_there = false;     ///< its ranks vary together: variation > max(0.01, 3 × noise)
};

/// Returns the variation of each replica. Empty if there are fewer than two replicas or steps, or
/// if a replica has a single rank, whose variation cannot be distinguished from noise.
std::vector<ReplicaVariation> replica_variations(const WorkSeries& work, const Peers& peers);

/// Returns one finding of all ranks of all replicas if more than half of at least three replicas
/// vary. Otherwise unit.ranks is empty.
SlowUnit varying_replicas(const std::vector<ReplicaVariation>& variations, const Peers& peers);

}  // namespace megascope::detect
