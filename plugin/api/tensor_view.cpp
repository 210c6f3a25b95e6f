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

/// What is wrong with the members that a later version of the program's header does not change;
/// nullptr: nothing.
const char* problem_with(const megascope_tensor_view& view) {
  if (view.size_bytes < offsetof(megascope_tensor_view, split_group))
    return "a tensor: size_bytes is not that of megascope_tensor_view";
  if (view.name == nullptr || view.name[0] == '\0') return "a tensor has no name";
  if (view.kind < 0 || view.kind >= static_cast<int>(TensorKind::kCount))
    return "a tensor is of a kind that there is not";
  if (view.dtype < 0 || view.dtype >= static_cast<int>(ElementType::kCount))
    return "a tensor has elements of a type that there is not";
  if (view.dimensions < 0 || view.dimensions > MEGASCOPE_MAX_DIMENSIONS)
    return "a tensor has too many dimensions, or fewer than none";
  if (view.is_split != 0 && (view.split_dimension < 0 || view.split_dimension >= view.dimensions)) {
    return "a tensor is split along a dimension that it does not have";
  }
  return nullptr;
}

/// Are all elements so near to the first one that their distance in bytes is a number? No extent is
/// 0.
bool is_within_reach(const TensorView& tensor) {
  constexpr double kMostElements = 0x1p48;
  double reach = 0.0;
  for (std::size_t i = 0; i < tensor.shape.dimension_count; ++i) {
    reach += static_cast<double>(tensor.shape.extents[i] - 1) *
             std::abs(static_cast<double>(tensor.strides[i]));
  }
  return reach <= kMostElements;
}

/// Extents and strides. False: they cannot be.
bool set_extents(const megascope_tensor_view& view, TensorView& tensor) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
  const auto count = static_cast<std::size_t>(view.dimensions);
  std::int64_t elements = 1;
  for (std::size_t i = count; i-- > 0;) {
    if (view.shape[i] < 0 || view.shape[i] > kMostElements) return false;
    tensor.shape.extents[i] = static_cast<std::uint64_t>(view.shape[i]);
    tensor.strides[i] = view.strides != nullptr ? view.strides[i] : elements;
    if (view.strides != nullptr &&
        (view.strides[i] < -kMostElements || view.strides[i] > kMostElements))
      return false;
    if (elements != 0 && view.shape[i] > kMostElements / elements) return false;
    elements *= view.shape[i];
  }
  return elements == 0 || (view.data != nullptr && is_within_reach(tensor));
}

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
  if (view == nullptr) return hooks::refuse(LossCause::kRefused, "a tensor is null");
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
    return hooks::refuse(LossCause::kRefused, "a tensor has an impossible shape, or no data");
  if (!set_blocks(*view, tensor))
    return hooks::refuse(LossCause::kRefused, "a tensor has a negative block");
  if (view->size_bytes >= offsetof(megascope_tensor_view, split_group) + sizeof view->split_group &&
      view->split_group != nullptr) {
    tensor.split_group = view->split_group;
  }
  tensor.data = view->data;
  tensor.is_on_device = view->is_on_device != 0;
  tensor.stream = view->stream;
  hooks::show_slowly(tensor);
}

}  // namespace megascope::api
