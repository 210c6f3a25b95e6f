#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/capture.h"
#include "plugin/tensors/step_talk.h"
#include "plugin/tensors/tensor_choice.h"

#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <vector>

namespace megascope::tensors {

/// Statistics of tensors as counters, set whenever the program shows them: "<name>[/layer
/// <l>]/<kind>/<what>", where <what> is count, nan, infinite, min, max, mean or norm
/// (kernels/tensor_statistics.h). Each process tells those of its own part.
class StatisticsSink final : public TensorSink {
 public:
  /// choices: what is looked at.
  /// talk: hears of all of them, as parts of those of all ranks; nullptr: nobody does. capture:
  /// what the live view wants beside; nullptr: there is none. Both outlive the sink.
  StatisticsSink(std::vector<TensorChoice> choices, StepTalk* talk, Capture* capture)
      : choices_(std::move(choices)), talk_(talk), capture_(capture) {}

  TensorKinds wanted_kinds(std::string_view name) noexcept override;
  /// A tensor on a device is passed over, and counted as refused.
  void take(const TensorView& tensor) noexcept override;

 private:
  Counters counters_of(const TensorView& tensor);

  void take_statistics(const TensorView& tensor) noexcept;

  std::vector<TensorChoice> choices_;
  StepTalk* talk_;
  Capture* capture_;
  std::mutex mutex_;
  std::map<std::tuple<TensorId, std::int32_t, TensorKind>, Counters>
      counters_;  ///< by name, layer and kind
};

}  // namespace megascope::tensors
