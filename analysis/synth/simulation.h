#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/program.h"
#include "analysis/synth/run_spec.h"
#include "core/record/call.h"

#include <cstdint>
#include <vector>

namespace megascope::synth {

/// Regions of a synthetic trace.
enum Region : RegionId {
  kInit = 1,
  kSend,
  kRecv,
  kIsend,
  kIrecv,
  kWaitall,
  kAllreduce,
  kFinalize,
  kRegionEnd
};

/// A call, and the range of its facts in RankCalls::facts.
struct StoredCall {
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;
  std::uint32_t first_fact = 0;
  CommId comm = kNoComm;
  RegionId region = kNoRegion;
  std::uint16_t fact_count = 0;
};
struct RankCalls {
  std::vector<StoredCall> calls;
  std::vector<Fact> facts;
};

/// Simulates the programs of all ranks for all steps. A blocking call ends when the operation on
/// which it depends has completed. Returns the calls by world rank. The result is deterministic,
/// because the programs use no wildcards. Memory: all calls and the messages in flight. The spec
/// must be valid (check() in synth.h).
std::vector<RankCalls> simulate(const RunSpec& spec, const Layout& layout);

}  // namespace megascope::synth
