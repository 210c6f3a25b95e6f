#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/run_spec.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::synth {

/// The root cause that a detector should find for a fault of a spec. Used to judge the result of
/// the detector, which does not receive it.
struct TrueRootCause {
  FaultKind kind = FaultKind::kSlowCompute;
  std::vector<std::int32_t> ranks;  ///< ascending; for a link its two ends
  std::vector<std::string> hosts;
  std::map<std::string, std::int32_t> groups;  ///< "pp": 3
  double factor = 1.0;
  std::int32_t onset_step = 0;
  std::int32_t last_step = 0;
};

/// Returns the name of the cause (analysis::Cause) that equals the kind of the fault.
std::string name_of(FaultKind kind);

/// Returns the root causes of a run, in the order of its faults. Faults that begin after the last
/// step are omitted.
std::vector<TrueRootCause> truth_of(const RunSpec& spec);

}  // namespace megascope::synth
