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

/// A call, and where its facts lie.
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

/// Runs the programs of all ranks for all steps against each other: what waits, waits for what it
/// waits for. The result does not depend on the order in which ranks are taken up, since no
/// operation is a choice. Memory: the calls, and the messages in flight. By world rank. The spec
/// must be valid (synth.h, check).
std::vector<RankCalls> simulate(const RunSpec& spec, const Layout& layout);

}  // namespace megascope::synth
