#include "kernels/tensor_statistics.h"

#include "kernels/elements.h"
#include "kernels/finite_lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace megascope::kernels {
namespace {

/// Partial results over all rows. Lanes take elements in turn, from row to row.
struct Lanes : FiniteLanes {
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
  std::size_t next = 0;  ///< next lane

  void add(std::size_t lane, double value) {
    const bool is_finite = std::abs(value) <= std::numeric_limits<double>::max();
    nan_count += value != value ? 1 : 0;
    infinity_count += !is_finite && value == value ? 1 : 0;
    const double counted = is_finite ? value : 0.0;
    min[lane] = is_finite && value < min[lane] ? value : min[lane];
    max[lane] = is_finite && value > max[lane] ? value : max[lane];
    sum[lane] += counted;
    sum_of_squares[lane] += counted * counted;
  }
  TensorStatistics total(std::uint64_t count) const {
    TensorStatistics all{.count = count, .nan_count = nan_count, .infinity_count = infinity_count};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      all.sum += sum[lane];
      all.sum_of_squares += sum_of_squares[lane];
    }
    if (all.finite_count() == 0) return all;
    all.min = *std::ranges::min_element(min);
    all.max = *std::ranges::max_element(max);
    return all;
  }
};

template <class Element>
void add_block(const unsigned char* at, Lanes& lanes) {
  std::array<typename Element::Type, kBlock> stored;
  std::memcpy(stored.data(), at, sizeof stored);
  if constexpr (std::is_same_v<Element, Plain<float>>) {
    if (lane_loops().add_floats(stored.data(), lanes)) return;
  }
  std::array<double, kBlock> values;
  for (std::size_t i = 0; i < kBlock; ++i) values[i] = Element::value(stored[i]);
  if (lane_loops().add_doubles(values.data(), lanes)) return;
  for (std::size_t i = 0; i < kBlock; ++i) lanes.add(i % kLanes, values[i]);
}

template <class Element>
void add_row(const unsigned char* at, std::uint64_t count, std::int64_t stride, Lanes& lanes) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(typename Element::Type));
  std::uint64_t i = 0;
  if (stride == 1) {
    for (; i + kBlock <= count; i += kBlock, at += kBlock * kBytes) add_block<Element>(at, lanes);
  }
  for (; i + kLanes <= count; i += kLanes) {
    std::array<double, kLanes> values;
    for (std::size_t lane = 0; lane < kLanes; ++lane, at += stride * kBytes)
      values[lane] = load<Element>(at);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes.add(lane, values[lane]);
  }
  std::size_t lane = lanes.next;
  for (; i < count; ++i, at += stride * kBytes) lanes.add(lane++ % kLanes, load<Element>(at));
  lanes.next = lane % kLanes;
}

/// The same elements in as few dimensions as possible: consecutive rows are merged, and a dimension
/// of stride 0 is replaced by a repeat count.
struct Shape {
  std::array<std::uint64_t, kMaxTensorDimensions> extents{};
  std::array<std::int64_t, kMaxTensorDimensions> strides{};
  std::size_t count = 0;
  std::uint64_t element_count = 1;  ///< without repeats
  std::uint64_t repeats = 1;        ///< of each element

  Shape(std::span<const std::uint64_t> all_extents, std::span<const std::int64_t> all_strides) {
    for (std::size_t d = 0; d < all_extents.size(); ++d) {
      if (all_strides[d] != 0) element_count *= all_extents[d];
    }
    for (std::size_t d = 0; d < all_extents.size(); ++d) {
      if (all_strides[d] == 0)
        repeats = all_extents[d] <= max_repeats() / repeats ? repeats * all_extents[d]
                                                            : max_repeats();
      if (all_extents[d] == 1 || all_strides[d] == 0) continue;
      const bool goes_on = count != 0 &&
                           strides[count - 1] ==
                               static_cast<std::int64_t>(all_extents[d]) * all_strides[d];
      if (!goes_on) extents[count++] = 1;
      extents[count - 1] *= all_extents[d];
      strides[count - 1] = all_strides[d];
    }
  }
  /// Bounds the repeats, so that counts do not overflow.
  std::uint64_t max_repeats() const {
    return std::numeric_limits<std::uint64_t>::max() / std::max<std::uint64_t>(element_count, 1);
  }
};

/// Adds all rows, in any order of memory.
template <class Element>
void add_rows(const unsigned char* data, const Shape& shape, Lanes& lanes) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(typename Element::Type));
  if (shape.count == 0) return add_row<Element>(data, 1, 1, lanes);
  const std::size_t outer = shape.count - 1;
  std::array<std::uint64_t, kMaxTensorDimensions> index{};
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < outer; ++d)
      offset += static_cast<std::int64_t>(index[d]) * shape.strides[d];
    add_row<Element>(data + offset * kBytes, shape.extents[outer], shape.strides[outer], lanes);
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == shape.extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

template <class Element>
TensorStatistics all_rows(const unsigned char* data, const Shape& shape) {
  Lanes lanes;
  add_rows<Element>(data, shape, lanes);
  TensorStatistics all = lanes.total(shape.element_count);
  for (std::uint64_t* count : {&all.count, &all.nan_count, &all.infinity_count})
    *count *= shape.repeats;
  for (double* sum : {&all.sum, &all.sum_of_squares}) *sum *= static_cast<double>(shape.repeats);
  return all;
}

}  // namespace

double TensorStatistics::mean() const {
  return finite_count() == 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sum / static_cast<double>(finite_count());
}

double TensorStatistics::norm() const {
  return finite_count() == 0 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(sum_of_squares);
}

void TensorStatistics::merge(const TensorStatistics& other) {
  min = std::fmin(min, other.min);  // fmin() ignores NaN
  max = std::fmax(max, other.max);
  count += other.count;
  nan_count += other.nan_count;
  infinity_count += other.infinity_count;
  sum += other.sum;
  sum_of_squares += other.sum_of_squares;
}

std::size_t element_bytes(ElementType type) noexcept {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    default:
      return 8;
  }
}

TensorStatistics statistics_of(const void* data, ElementType type,
                               std::span<const std::uint64_t> extents,
                               std::span<const std::int64_t> strides) noexcept {
  if (std::find(extents.begin(), extents.end(), 0U) != extents.end()) return {};
  const auto* const bytes = static_cast<const unsigned char*>(data);
  const Shape shape(extents, strides);
  return with_elements(type,
                       [&](auto element) { return all_rows<decltype(element)>(bytes, shape); });
}

}  // namespace megascope::kernels
