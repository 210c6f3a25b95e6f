#pragma once

#include "analysis/common/cause.h"

#include <cstdint>
#include <vector>

namespace megascope::synth {

enum class Pattern : std::uint8_t {
  k1F1B,         ///< tensor × pipeline × data parallel training, one forward one backward
  kInterleaved,  ///< as k1F1B, but each rank has several chunks of the model
  kHalo,         ///< 2-D grid: halo exchanges and one reduction per step
};

/// The causes that synthetic runs can have.
enum class FaultKind : std::uint8_t {
  kSlowCompute = static_cast<std::uint8_t>(analysis::Cause::kSlowCompute),
  kSlowHost = static_cast<std::uint8_t>(analysis::Cause::kSlowHost),
  kSlowLink = static_cast<std::uint8_t>(analysis::Cause::kSlowLink),
  kHostStall = static_cast<std::uint8_t>(analysis::Cause::kHostStall),
  kStageImbalance = static_cast<std::uint8_t>(analysis::Cause::kStageImbalance),
  kInputImbalance = static_cast<std::uint8_t>(analysis::Cause::kInputImbalance),
};
inline constexpr FaultKind kFaultKinds[] = {FaultKind::kSlowCompute,    FaultKind::kSlowHost,
                                            FaultKind::kSlowLink,       FaultKind::kHostStall,
                                            FaultKind::kStageImbalance, FaultKind::kInputImbalance};

/// A fault from step `onset` to `last`, in the first `active` of every `period` steps.
struct Fault {
  FaultKind kind = FaultKind::kSlowCompute;
  std::int32_t where = 0;  ///< depends on `kind`: a world rank, or the index of a host, of a stage,
                           ///< or of a data parallel replica
  std::int32_t to = 0;     ///< kSlowLink: the other end; both directions are slow
  std::int32_t onset = 0;
  std::int32_t last = 1 << 30;
  std::int32_t period = 1;
  std::int32_t active = 1;
  double severity = 0.1;  ///< additional time as a fraction of the usual time: 0.1 is 10 %.
                          ///< kHostStall: fraction of the step's work. kInputImbalance: average
                          ///< over the steps

  bool is_active(std::int32_t step) const {
    return step >= onset && step <= last && (step - onset) % period < active;
  }
};

/// Variation of times without faults. Independent for each unit of work.
struct Noise {
  double sigma = 0.02;        ///< sigma of the lognormal factor of each unit of work
  double link_sigma = 0.02;   ///< sigma of the lognormal factor of each transfer
  double pareto_share = 0.0;  ///< fraction of the units of work that take longer, by the factor
                              ///< (1 + 0.2 × (Pareto(2.5) − 1))
  double pause_share = 0.0;   ///< fraction of a rank's steps that contain one pause, like that of a
                              ///< garbage collector
  double
      pause_of_step = 0.2;  ///< mean length of a pause, as a share of the step's work (exponential)
};

/// How the ranks' clocks differ in the traces written; each host has one clock.
struct ClockSpread {
  double offset_ns = 0.0;  ///< offsets are uniform in ± this value
  double drift_ppm = 0.0;  ///< drifts are uniform in ± this value
};

struct RunSpec {
  Pattern pattern = Pattern::k1F1B;
  std::int32_t tp = 2;
  std::int32_t pp = 2;
  std::int32_t dp = 2;
  std::int32_t chunks = 2;         ///< kInterleaved: chunks of the model per rank
  std::int32_t micro_batches = 8;  ///< kInterleaved: a multiple of pp
  std::int32_t layers = 4;         ///< layers per stage (or chunk)
  std::int32_t grid_x = 4;         ///< kHalo
  std::int32_t grid_y = 4;
  std::int32_t sweeps = 8;  ///< kHalo: exchanges per step
  std::int32_t steps = 20;
  std::int32_t ranks_per_host = 8;
  std::uint64_t
      work_unit_ns = 200'000;  ///< half of a layer's forward work; kHalo: half of a sweep's work
  std::uint64_t message_bytes = 4 << 20;  ///< between stages or neighbours
  std::uint64_t gradient_bytes = 64 << 20;
  Noise noise;
  ClockSpread clocks;
  std::vector<Fault> faults;
  std::uint64_t seed = 1;

  std::int32_t rank_count() const {
    return pattern == Pattern::kHalo ? grid_x * grid_y : tp * pp * dp;
  }
};

}  // namespace megascope::synth
