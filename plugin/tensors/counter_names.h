#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "kernels/tensor_statistics.h"

#include <array>
#include <string>
#include <string_view>

namespace megascope::tensors {

/// The statistics of one tensor, each recorded as a counter.
inline constexpr std::size_t kCounterCount = 7;
inline constexpr std::array<const char*, kCounterCount> kCounterWords{
    "count", "nan", "infinite", "min", "max", "mean", "norm"};
using CounterValues = std::array<double, kCounterCount>;
using Counters = std::array<CounterId, kCounterCount>;

/// The statistics in the order of kCounterWords.
CounterValues values_of(const kernels::TensorStatistics& statistics);
/// Counter name prefix: "<name>[/layer <l>]/<kind>/".
std::string counter_prefix(std::string_view name, std::int32_t layer, TensorKind kind);
/// Defines one counter for each of kCounterWords, named `prefix` + word.
Counters define_counters(const std::string& prefix);
void set_counters(const Counters& counters, const CounterValues& values) noexcept;

}  // namespace megascope::tensors
