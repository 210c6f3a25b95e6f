#include "plugin/steps/step_results.h"

#include "core/hooks/hooks.h"
#include "plugin/tensors/shards.h"

namespace megascope::steps {

void StepResults::count(bool is_usable) {
  ++facts_.steps;
  facts_.skipped += is_usable ? 0 : 1;
}

void StepResults::record_times(const StepHeader& header) {
  facts_.own_ns += header.max_overhead_ns;
  facts_.wait_ns += header.max_wait_ns;
  if (header.longest_step_ns == 0) return;
  facts_.step_ns += header.longest_step_ns;
  if (!has_time_counters_)
    time_counters_ = {hooks::counter("step/longest", "ms"), hooks::counter("step/shortest", "ms")};
  has_time_counters_ = true;
  hooks::count(time_counters_[0], static_cast<double>(header.longest_step_ns) * 1e-6);
  hooks::count(time_counters_[1], static_cast<double>(header.shortest_step_ns) * 1e-6);
}

void StepResults::record_models(std::span<const std::byte> merged, const StepHeader& header) {
  std::map<TensorKind, kernels::TensorStatistics> totals;
  if (header.dropped != 0) return;
  for (std::uint32_t i = 0; i < header.used; ++i) {
    const TensorSlot slot = slot_of(merged, i);
    const auto kind = static_cast<TensorKind>(slot.kind);
    if (slot.kind >= static_cast<std::uint32_t>(TensorKind::kCount) ||
        !tensors::is_of_model(kind) || slot.is_counted == 0)
      continue;
    if (slot.parts != slot.wanted_parts) return;
    totals[kind].merge(slot.statistics);
  }
  for (const auto& [kind, total] : totals) {
    const auto [counters, is_new] = model_counters_.try_emplace(kind);
    if (is_new)
      counters->second = tensors::define_counters(tensors::counter_prefix("all", kNoLayer, kind) +
                                                  "global ");
    tensors::set_counters(counters->second, tensors::values_of(total));
  }
}

}  // namespace megascope::steps
