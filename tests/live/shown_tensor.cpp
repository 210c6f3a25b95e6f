#include "shown_tensor.h"

#include "core/base/hash.h"
#include "core/lifecycle/tensor_sink.h"
#include "plugin/capture/view.h"
#include "plugin/tensors/shards.h"
#include "plugin/tensors/tensor_choice.h"

#include <functional>
#include <numeric>
#include <optional>
#include <string>

namespace megascope::test {
namespace {

using capture::CaptureRequestKind;

TensorView view_of(const ShownTensor& tensor, const std::vector<float>& values) {
  TensorView view;
  view.shape.kind = tensor.kind;
  view.shape.layer = tensor.layer;
  view.shape.micro_batch = 0;
  view.shape.split_dimension = -1;
  view.shape.dimension_count = static_cast<std::uint8_t>(tensor.shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = tensor.shape.size(); d-- > 0;
       stride *= static_cast<std::int64_t>(tensor.shape[d])) {
    view.shape.extents[d] = tensor.shape[d];
    view.strides[d] = stride;
  }
  view.name = tensor.name;
  view.step = tensor.step;
  view.data = values.data();
  return view;
}

void show(const TensorView& tensor, const capture::CaptureRequest& capture_request,
          std::uint64_t key, capture::RankUpdateWriter& rank_update) {
  std::string problem;
  const std::optional<TensorView> flat = capture::flattened(
      tensor, capture_request.kind == CaptureRequestKind::kTile ? capture_request.keep : 0,
      problem);
  const std::optional<capture::Spread> spread = flat ? capture::spread_of(
                                                           *flat, tensors::Layout::of({}, 0, 1),
                                                           problem)
                                                     : std::nullopt;
  std::optional<capture::ViewPart> part = spread ? capture::make_part(capture_request, *flat,
                                                                      *spread, problem)
                                                 : std::nullopt;
  if (!part)
    return static_cast<void>(rank_update.add(
        capture::Notice{capture_request.id, std::string(tensor.name) + " " + problem}));
  part->capture_request = capture_request.id;
  part->key = key;
  part->step = tensor.step;
  part->realtime_ns = 1;
  rank_update.add(*part);
}

}  // namespace

std::vector<std::byte> rank_update_of(
    const ShownTensor& tensor, const std::vector<capture::CaptureRequest>& capture_requests) {
  const std::uint64_t count = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                              std::uint64_t{1}, std::multiplies<>());
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7);
  const TensorView view = view_of(tensor, values);
  const std::uint64_t key = not_zero(combined(std::hash<std::string_view>()(tensor.name),
                                              static_cast<std::uint64_t>(tensor.layer)));
  capture::RankUpdateWriter rank_update;
  rank_update.add(capture::TensorName{.key = key,
                                      .layer = tensor.layer,
                                      .kind = tensor.kind,
                                      .type = ElementType::kFloat32,
                                      .name = std::string(tensor.name),
                                      .shape = tensor.shape});
  for (const capture::CaptureRequest& capture_request : capture_requests) {
    const bool is_kind = capture_request.tensor_kind == capture::kAnyKind ||
                         capture_request.tensor_kind == static_cast<std::uint8_t>(tensor.kind);
    const bool is_view = capture_request.kind == CaptureRequestKind::kTile ||
                         capture_request.kind == CaptureRequestKind::kWhole;
    if (is_view && is_kind && tensors::matches(capture_request.pattern(), tensor.name))
      show(view, capture_request, key, rank_update);
  }
  return rank_update.take();
}

}  // namespace megascope::test
