#pragma once

#include "analysis/synth/layout.h"
#include "analysis/synth/random.h"
#include "analysis/synth/run_spec.h"

#include <cstdint>

namespace megascope::synth {

/// What a replica whose input is imbalanced gets to do more in a step, as a multiple of the fault's
/// severity: 0 to 2.
double input_share(const RunSpec& spec, const Fault& fault, std::int32_t step);

/// How long things take: noise, and what is wrong. Every figure follows from the seed and from what
/// is asked for, in any order.
class WorkModel {
 public:
  WorkModel(const RunSpec& spec, const Layout& layout) : spec_(spec), layout_(layout) {}

  /// A rank's step: its factor on all work, and its pauses, each in front of one piece.
  struct Step {
    double factor = 1.0;
    std::int32_t garbage_at = -1;  ///< index of the work operation; −1: none
    double garbage_ns = 0.0;
    std::int32_t stall_at = -1;
    double stall_ns = 0.0;
  };
  /// work_ns: all work of one step without noise, in `work_count` operations.
  Step begin_step(std::int32_t rank, std::int32_t step, double work_ns,
                  std::int32_t work_count) const;

  /// Time of the index-th work operation of the step.
  double work_ns(const Step& state, std::int32_t rank, std::int32_t step, std::int32_t index,
                 std::int32_t pieces, double amount_ns) const;
  /// Time of the count-th message of the step from a rank to another.
  double transfer_ns(std::int32_t from, std::int32_t to, std::int32_t step, std::uint64_t number,
                     std::uint64_t bytes) const;
  /// Time of a reduction after its last member has come.
  double reduction_ns(std::uint64_t comm_name, std::uint64_t number, std::size_t members,
                      std::uint64_t bytes) const;

 private:
  bool slows(const Fault& fault, std::int32_t rank) const;

  const RunSpec& spec_;
  const Layout& layout_;
};

}  // namespace megascope::synth
