#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/run_spec.h"
#include "analysis/synth/simulation.h"
#include "core/base/status.h"
#include "core/record/source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::synth {

/// Checks a spec. The error names the value that is out of range. At most 1024 ranks.
Status check(const RunSpec& spec);

/// A synthetic run in memory, without clock errors. Equal specs give equal runs. Const functions:
/// any thread.
class SynthRun final : public RecordSource {
 public:
  /// spec: must pass check().
  explicit SynthRun(const RunSpec& spec);

  std::int32_t world_size() const override { return static_cast<std::int32_t>(ranks_.size()); }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t rank) const override {
    return processes_[static_cast<std::size_t>(rank)];
  }
  std::unique_ptr<CallStream> calls(std::int32_t rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return 1'700'000'000'000'000'000; }
  std::uint64_t end_ns() const override { return end_ns_; }
  /// Number of calls of all ranks.
  std::uint64_t call_count() const;

 private:
  std::vector<std::int32_t> ranks_;
  std::vector<ProcessDefinitions> processes_;
  std::vector<RankCalls> calls_;
  std::uint64_t end_ns_ = 0;
};

/// A rank's clock. Ranks of one host share it.
struct RankClock {
  std::int32_t host = 0;
  std::int64_t offset_ns = 0;
  double drift_ppm = 0.0;
};
/// Returns the clocks by world rank, random within RunSpec::clocks according to the seed.
std::vector<RankClock> clocks_of(const RunSpec& spec);

}  // namespace megascope::synth
