#pragma once

#include "analysis/detect/peers.h"
#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// By how much the work of one replica differs from that of the others, from step to step.
struct ReplicaVariation {
  std::vector<double> mean;  ///< by step: mean log factor of its ranks
  double variation = 0.0;    ///< standard deviation of `mean` over the steps
  double noise = 0.0;        ///< the same, were its ranks independent of each other
  bool is_there = false;     ///< the ranks of the replica vary together
};

/// By replica; empty where replicas have fewer than two ranks, which nothing tells from noise.
std::vector<ReplicaVariation> replica_variations(const WorkSeries& work, const Peers& peers);

/// Where most replicas vary, that is one finding of all of them: unit.ranks is empty where not.
SlowUnit varying_replicas(const std::vector<ReplicaVariation>& variations, const Peers& peers);

}  // namespace megascope::detect
