#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/counter_names.h"
#include "plugin/tensors/shown_tensors.h"
#include "plugin/tensors/tensor_choice.h"

#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace megascope::tensors {

/// Records statistics of tensors as counters whenever the application shows a tensor:
/// "<name>[/layer <l>]/<kind>/<what>", where <what> is count, nan, infinite, min, max, mean or norm
/// (kernels/tensor_statistics.h). Each process records its own part. Any thread.
class StatisticsSink final : public TensorSink {
 public:
  /// choices: the tensors whose statistics are recorded (MEGASCOPE_TENSORS).
  /// shown: receives the statistics of each tensor for the exchange over all ranks; nullptr: there
  /// is no exchange. capture: receives the tensors for the live view; nullptr: there is no live
  /// view. Both must outlive the sink.
  StatisticsSink(std::vector<TensorChoice> choices, ShownTensors* shown, CaptureSink* capture)
      : choices_(std::move(choices)), shown_(shown), capture_(capture) {}

  TensorKinds wanted_kinds(std::string_view name) noexcept override;
  /// Computes the statistics and views of one tensor on the calling thread. Ignores tensors on a
  /// device and counts them as refused.
  void take(const TensorView& tensor) noexcept override;

 private:
  Counters counters_of(const TensorView& tensor);

  void take_statistics(const TensorView& tensor) noexcept;

  std::vector<TensorChoice> choices_;
  ShownTensors* shown_;
  CaptureSink* capture_;
  std::mutex mutex_;
  /// By name, layer and kind.
  std::map<std::tuple<TensorId, std::int32_t, TensorKind>, Counters> counters_;
};

}  // namespace megascope::tensors
