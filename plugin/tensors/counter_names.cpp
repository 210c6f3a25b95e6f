#include "plugin/tensors/counter_names.h"

#include "core/hooks/hooks.h"

namespace megascope::tensors {

CounterValues values_of(const kernels::TensorStatistics& statistics) {
  return {static_cast<double>(statistics.count),
          static_cast<double>(statistics.nan_count),
          static_cast<double>(statistics.infinity_count),
          statistics.min,
          statistics.max,
          statistics.mean(),
          statistics.norm()};
}

std::string counter_prefix(std::string_view name, std::int32_t layer, TensorKind kind) {
  std::string prefix(name);
  if (layer != kNoLayer) prefix += "/layer " + std::to_string(layer);
  return prefix + "/" + std::string(kTensorKindNames[static_cast<std::size_t>(kind)]) + "/";
}

Counters define_counters(const std::string& prefix) {
  Counters counters{};
  for (std::size_t i = 0; i < kCounterCount; ++i)
    counters[i] = hooks::counter(prefix + kCounterWords[i], "");
  return counters;
}

void set_counters(const Counters& counters, const CounterValues& values) noexcept {
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    if (counters[i] != hooks::kNoCounter) hooks::count(counters[i], values[i]);
  }
}

}  // namespace megascope::tensors
