#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/random.h"
#include "analysis/synth/run_spec.h"

#include <cstdint>

namespace megascope::synth {

/// Additional work of a replica with imbalanced input in a step, as a multiple of the fault's
/// severity: 0 to 2.
double input_share(const RunSpec& spec, const Fault& fault, std::int32_t step);

/// Durations of work and transfers, from noise and faults. Each value depends only on the seed and
/// the arguments, not on the order of calls. spec, layout: must outlive the object.
class WorkModel {
 public:
  WorkModel(const RunSpec& spec, const Layout& layout) : spec_(spec), layout_(layout) {}

  /// Properties of one step of a rank: a factor for all work, and pauses, each before one work
  /// operation.
  struct Step {
    double factor = 1.0;
    std::int32_t garbage_at = -1;  ///< index of the work operation; −1: none
    double garbage_ns = 0.0;
    std::int32_t stall_at = -1;
    double stall_ns = 0.0;
  };
  /// work_ns: total work of one step without noise, in `work_count` operations.
  Step begin_step(std::int32_t rank, std::int32_t step, double work_ns,
                  std::int32_t work_count) const;

  /// Duration of work operation `index` of the step.
  double work_ns(const Step& state, std::int32_t rank, std::int32_t step, std::int32_t index,
                 std::int32_t pieces, double amount_ns) const;
  /// Duration of message `number` of the step from one rank to another. Ranks are world ranks.
  double transfer_ns(std::int32_t from, std::int32_t to, std::int32_t step, std::uint64_t number,
                     std::uint64_t bytes) const;
  /// Duration of a reduction after its last member has entered.
  double reduction_ns(std::uint64_t comm_name, std::uint64_t number, std::size_t members,
                      std::uint64_t bytes) const;

 private:
  bool slows(const Fault& fault, std::int32_t rank) const;

  const RunSpec& spec_;
  const Layout& layout_;
};

}  // namespace megascope::synth
