#pragma once

#include "analysis/synth/truth.h"
#include "core/record/source.h"

#include <cstdint>
#include <memory>
#include <vector>

/// Runs to judge the detection by that were not used to tune it: written apart from analysis/synth,
/// with other programs (all forwards, then all backwards, and sharded gradients; a chain of ranks
/// that exchange pairwise), another order of ranks, another noise (gamma, and a drift common to all
/// ranks from step to step), faults that come and go at random. Only the words in which the truth
/// is told are shared.
namespace megascope::second {

struct Spec {
  bool is_chain = false;  ///< else a pipeline
  int pp = 4;             ///< ranks of a pipeline
  int dp = 2;
  int ranks = 8;  ///< of a chain
  int steps = 20;
  int ranks_per_host = 4;
  double noise = 0.02;  ///< coefficient of variation of each unit of work and each transfer
  synth::FaultKind kind = synth::FaultKind::kSlowCompute;
  double severity = 0.0;  ///< 0: nothing is wrong
  std::uint64_t seed = 1;
};

struct Run {
  std::unique_ptr<RecordSource> source;
  std::vector<synth::TrueRootCause> truth;
  std::vector<bool> is_active;  ///< by step: is it slow in it?
};
Run make_run(const Spec& spec);

}  // namespace megascope::second
