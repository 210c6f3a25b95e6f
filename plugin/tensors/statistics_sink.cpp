#include "plugin/tensors/statistics_sink.h"

#include "core/base/clock.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "kernels/tensor_statistics.h"

#include <new>
#include <optional>
#include <span>

namespace megascope::tensors {

TensorKinds StatisticsSink::wanted_kinds(std::string_view name) noexcept {
  const TensorKinds asked = capture_ != nullptr ? capture_->wanted_kinds(name) : TensorKinds{0};
  return static_cast<TensorKinds>(chosen_kinds(choices_, name) | asked);
}

Counters StatisticsSink::counters_of(const TensorView& tensor) {
  const std::lock_guard lock(mutex_);
  const auto [found,
              is_new] = counters_.try_emplace({tensor.id, tensor.shape.layer, tensor.shape.kind});
  if (is_new)
    found->second = define_counters(
        counter_prefix(tensor.name, tensor.shape.layer, tensor.shape.kind));
  return found->second;
}

void StatisticsSink::take(const TensorView& tensor) noexcept {
  std::optional<OverheadTimer> overhead;
  if (Recorder* const recorder = hooks::recorder()) overhead.emplace(*recorder);
  const std::uint64_t begin_ns = shown_ != nullptr ? clock::monotonic_ns() : 0;
  take_statistics(tensor);
  if (capture_ != nullptr) capture_->take(tensor);
  if (shown_ != nullptr) shown_->add_time(clock::monotonic_ns() - begin_ns);
}

void StatisticsSink::take_statistics(const TensorView& tensor) noexcept {
  const bool is_counted = hooks::is_kept() && (chosen_kinds(choices_, tensor.name) &
                                               kinds_with(tensor.shape.kind)) != 0;
  if (!is_counted && (capture_ == nullptr || !capture_->wants_statistics(tensor))) return;
  if (tensor.is_on_device)
    return hooks::refuse(LossCause::kRefused,
                         "a tensor is in device memory: its statistics need a build with CUDA");
  const std::size_t dimensions = tensor.shape.dimension_count;
  const kernels::TensorStatistics found = kernels::statistics_of(
      tensor.data, tensor.shape.type, std::span(tensor.shape.extents).first(dimensions),
      std::span(tensor.strides).first(dimensions));
  try {
    if (is_counted) set_counters(counters_of(tensor), values_of(found));
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for the counters of a tensor");
  }
  if (shown_ != nullptr) shown_->add(tensor, found, is_counted);
}

}  // namespace megascope::tensors
