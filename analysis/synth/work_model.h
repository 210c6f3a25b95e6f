#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/random.h"
#include "analysis/synth/run_spec.h"

#include <cstdint>

namespace megascope::synth {

/// Returns the additional work of a replica with imbalanced input in a step, as a multiple of the
/// fault's severity: 0 to 2.
double input_share(const RunSpec& spec, const Fault& fault, std::int32_t step);

/// Durations of work and transfers, from noise and faults. Each value depends only on the seed and
/// the arguments, not on the order of calls. spec, layout: must outlive the object.
class WorkModel {
 public:
  WorkModel(const RunSpec& spec, const Layout& layout) : spec_(spec), layout_(layout) {}

  /// Properties of one step of a rank: a factor for the duration of all work, and up to two pauses.
  /// Each pause is before one work operation.
  struct Step {
    double factor = 1.0;
    std::int32_t garbage_at = -1;  ///< index of the work operation; −1: none
    double garbage_ns = 0.0;
    std::int32_t stall_at = -1;
    double stall_ns = 0.0;
  };
  /// Determines the properties of a step. work_ns: work of the step without noise, in all
  /// `work_count` work operations together.
  Step begin_step(std::int32_t rank, std::int32_t step, double work_ns,
                  std::int32_t work_count) const;

  /// Returns the duration of work operation `index` of the step, in ns.
  double work_ns(const Step& state, std::int32_t rank, std::int32_t step, std::int32_t index,
                 std::int32_t work_units, double amount_ns) const;
  /// Returns the duration of message `number` of the step from rank `from` to rank `to`, in ns.
  /// Ranks are world ranks.
  double transfer_ns(std::int32_t from, std::int32_t to, std::int32_t step, std::uint64_t number,
                     std::uint64_t bytes) const;
  /// Returns the time from the entry of the last member of a reduction to its end, in ns.
  double reduction_ns(std::uint64_t comm_name, std::uint64_t number, std::size_t members,
                      std::uint64_t bytes) const;

 private:
  bool slows(const Fault& fault, std::int32_t rank) const;

  const RunSpec& spec_;
  const Layout& layout_;
};

}  // namespace megascope::synth
