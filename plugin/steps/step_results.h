#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "plugin/steps/step_block.h"
#include "plugin/tensors/counter_names.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace megascope::steps {

/// Totals of the exchanges of a run, on rank 0. For each step, a duration is the maximum over
/// ranks; the totals are the sums of these maxima over steps.
struct StepExchangeFacts {
  std::uint64_t steps = 0;    ///< steps whose merged block arrived
  std::uint64_t skipped = 0;  ///< of these, steps whose statistics could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;
  std::uint64_t wait_ns = 0;  ///< of own_ns, time waiting for other ranks
};

/// Records rank 0's results of the exchange:
/// - The counters "step/longest" and "step/shortest" are step durations over all ranks.
/// - The counters "all/<kind>/global <what>" are statistics over all tensors of one kind, for kinds
/// that are the same in all replicas (is_of_model).
/// - facts() returns totals.
/// Only on the thread that begins steps. The functions throw std::bad_alloc.
class StepResults {
 public:
  /// Counts a merged block. is_usable: whether its statistics are complete.
  void count(bool is_usable);
  /// Records the longest and the shortest step duration of a merged block as counters. Adds the
  /// durations to the totals.
  void record_times(const StepHeader& header);
  /// Records statistics over all tensors of each kind that is the same in all replicas. Does
  /// nothing if a tensor, or a part of one, is missing in the block.
  void record_models(std::span<const std::byte> merged, const StepHeader& header);
  const StepExchangeFacts& facts() const { return facts_; }

 private:
  StepExchangeFacts facts_;
  std::map<TensorKind, tensors::Counters> model_counters_;
  std::array<CounterId, 2> time_counters_{};
  bool has_time_counters_ = false;
};

}  // namespace megascope::steps
