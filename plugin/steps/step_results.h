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

/// Totals of the exchanges of a run, on rank 0. Durations are sums over steps of the maximum over
/// ranks.
struct StepExchangeFacts {
  std::uint64_t steps = 0;    ///< steps whose merged block arrived
  std::uint64_t skipped = 0;  ///< of these, steps whose statistics could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;
  std::uint64_t wait_ns = 0;  ///< of own_ns, time waiting for other ranks
};

/// Rank 0's results of the exchange: counters "step/longest" and "step/shortest" over all ranks,
/// "all/<kind>/global <what>" over all tensors of a kind that is the same in all replicas
/// (is_of_model), and totals. Only on the thread that begins steps. Throws std::bad_alloc.
class StepResults {
 public:
  /// A merged block has arrived. is_usable: its statistics are complete.
  void count(bool is_usable);
  /// Records the durations that the block has: of the previous step and of the previous boundary,
  /// as maxima over ranks.
  void record_times(const StepHeader& header);
  /// Records statistics over all tensors of each kind, if no tensor is missing.
  void record_models(std::span<const std::byte> merged, const StepHeader& header);
  const StepExchangeFacts& facts() const { return facts_; }

 private:
  StepExchangeFacts facts_;
  std::map<TensorKind, tensors::Counters> model_counters_;
  std::array<CounterId, 2> time_counters_{};
  bool has_time_counters_ = false;
};

}  // namespace megascope::steps
