#include "plugin/api/tensor_view.h"

#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"

#include <cmath>
#include <cstddef>

namespace megascope::api {
namespace {

static_assert(MEGASCOPE_MAX_DIMENSIONS == kMaxTensorDimensions);
static_assert(MEGASCOPE_OTHER + 1 == static_cast<int>(TensorKind::kCount) &&
              MEGASCOPE_UINT64 + 1 == static_cast<int>(ElementType::kCount));
static_assert(MEGASCOPE_NOWHERE == kNoLayer && MEGASCOPE_NOWHERE == kNoMicroBatch);

/// Returns whether `index` is 0 … MEGASCOPE_MAX_INDEX or MEGASCOPE_NOWHERE.
bool is_index(std::int32_t index) { return index >= 0 || index == MEGASCOPE_NOWHERE; }

/// Returns why the view is invalid, judged by the members of the first published layout; nullptr if
/// they are valid.
const char* problem_with(const megascope_tensor_view& view) {
  if (view.size_bytes < offsetof(megascope_tensor_view, split_group))
    return "megascope_tensor: size_bytes is too small; set it to sizeof(megascope_tensor_view)";
  if (view.name == nullptr || view.name[0] == '\0')
    return "megascope_tensor: name is null or empty";
  if (view.kind < 0 || view.kind >= static_cast<int>(TensorKind::kCount))
    return "megascope_tensor: kind is not a megascope_tensor_kind";
  if (view.dtype < 0 || view.dtype >= static_cast<int>(ElementType::kCount))
    return "megascope_tensor: dtype is not a megascope_dtype";
  if (!is_index(view.layer)) return "megascope_tensor: layer is negative and not MEGASCOPE_NOWHERE";
  if (!is_index(view.micro_batch))
    return "megascope_tensor: micro_batch is negative and not MEGASCOPE_NOWHERE";
  if (view.dimensions < 0 || view.dimensions > MEGASCOPE_MAX_DIMENSIONS)
    return "megascope_tensor: dimensions is not 0 to 8";
  if (view.is_split != 0 && (view.split_dimension < 0 || view.split_dimension >= view.dimensions)) {
    return "megascope_tensor: split_dimension is not 0 to dimensions - 1";
  }
  return nullptr;
}

/// Returns whether every element lies within 2^48 elements of the first one, so that offsets in
/// bytes cannot overflow. No extent is 0.
bool is_within_reach(const TensorView& tensor) {
  constexpr double kMaxElements = 0x1p48;
  double reach = 0.0;
  for (std::size_t i = 0; i < tensor.shape.dimension_count; ++i) {
    reach += static_cast<double>(tensor.shape.extents[i] - 1) *
             std::abs(static_cast<double>(tensor.strides[i]));
  }
  return reach <= kMaxElements;
}

/// Copies extents and strides. Returns false if one is out of range or `data` is missing.
bool set_extents(const megascope_tensor_view& view, TensorView& tensor) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
  const auto count = static_cast<std::size_t>(view.dimensions);
  std::int64_t elements = 1;
  for (std::size_t i = count; i-- > 0;) {
    if (view.shape[i] < 0 || view.shape[i] > kMaxElements) return false;
    tensor.shape.extents[i] = static_cast<std::uint64_t>(view.shape[i]);
    tensor.strides[i] = view.strides != nullptr ? view.strides[i] : elements;
    if (view.strides != nullptr &&
        (view.strides[i] < -kMaxElements || view.strides[i] > kMaxElements))
      return false;
    if (elements != 0 && view.shape[i] > kMaxElements / elements) return false;
    elements *= view.shape[i];
  }
  return elements == 0 || (view.data != nullptr && is_within_reach(tensor));
}

/// Copies the blocks up to the first 0. Returns false if one is negative.
bool set_blocks(const megascope_tensor_view& view, TensorView& tensor) {
  static_assert(MEGASCOPE_MAX_BLOCKS == 4);
  for (const std::int32_t block : view.blocks) {
    if (block < 0) return false;
    if (block == 0) break;
    tensor.blocks[tensor.block_count++] = static_cast<std::uint32_t>(block);
  }
  return true;
}

}  // namespace

void show(const megascope_tensor_view* view) noexcept {
  if (view == nullptr) return hooks::refuse(LossCause::kRefused, "megascope_tensor: view is null");
  if (const char* problem = problem_with(*view)) return hooks::refuse(LossCause::kRefused, problem);
  TensorView tensor;
  tensor.name = view->name;
  tensor.shape.kind = static_cast<TensorKind>(view->kind);
  tensor.shape.type = static_cast<ElementType>(view->dtype);
  tensor.shape.layer = view->layer;
  tensor.shape.micro_batch = view->micro_batch;
  tensor.shape.split_dimension = static_cast<std::int8_t>(
      view->is_split != 0 ? view->split_dimension : -1);
  tensor.shape.dimension_count = static_cast<std::uint8_t>(view->dimensions);
  if (!set_extents(*view, tensor))
    return hooks::refuse(
        LossCause::kRefused,
        "megascope_tensor: data is null, or the shape or strides exceed 2^48 elements");
  if (!set_blocks(*view, tensor))
    return hooks::refuse(LossCause::kRefused, "megascope_tensor: an element of blocks is negative");
  if (view->size_bytes >= offsetof(megascope_tensor_view, split_group) + sizeof view->split_group &&
      view->split_group != nullptr) {
    tensor.split_group = view->split_group;
  }
  tensor.data = view->data;
  tensor.is_on_device = view->is_on_device != 0;
  tensor.stream = view->stream;
  hooks::show_slow_path(tensor);
}

}  // namespace megascope::api
