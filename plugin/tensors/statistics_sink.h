#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/step_talk.h"

namespace megascope::tensors {

/// Does the name match the pattern, in which '*' stands for any characters, none too?
bool matches(std::string_view pattern, std::string_view name);

/// Statistics of tensors as counters, set whenever the program shows them: "<name>[/layer <l>]/<kind>/<what>", where <what> is
/// count, nan, infinite, min, max, mean or norm (kernels/tensor_statistics.h). Each process tells those of its own part.
class StatisticsSink final : public TensorSink {
 public:
  /// patterns: of the names that are looked at.
  /// talk: hears of all of them, as parts of those of all ranks; nullptr: nobody does. It outlives the sink.
  StatisticsSink(std::vector<std::string> patterns, StepTalk* talk) : patterns_(std::move(patterns)), talk_(talk) {}

  bool wants(std::string_view name) noexcept override;
  /// A tensor on a device is passed over, and counted as refused.
  void take(const TensorView& tensor) noexcept override;

 private:
  Counters counters_of(const TensorView& tensor);

  std::vector<std::string> patterns_;
  StepTalk* talk_;
  std::mutex mutex_;
  std::map<std::tuple<TensorId, std::int32_t, TensorKind>, Counters> counters_;  ///< by name, layer and kind
};

}  // namespace megascope::tensors
