#pragma once

#include "core/record/point.h"

#include <cstdint>
#include <limits>
#include <span>

namespace megascope::kernels {

/// Statistics of the elements of a tensor. Only finite elements contribute to min, max and the
/// sums. If there are none, min and max are NaN. Statistics of parts of a tensor can be merged:
/// counts, min and max exactly, sums within rounding.
struct TensorStatistics {
  std::uint64_t count = 0;  ///< number of elements
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;  ///< of both signs
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  double sum_of_squares = 0.0;

  std::uint64_t finite_count() const { return count - nan_count - infinity_count; }
  double mean() const;
  /// The Euclidean norm.
  double norm() const;
  void merge(const TensorStatistics& other);
};

/// Computes the statistics of a tensor on the host.
/// data: element with all indices 0; any alignment; not read if an extent is 0.
/// extents, strides: one value for each dimension, in elements; both have the same length, at most
/// kMaxTensorDimensions. A scalar has none. Strides may be 0 or negative. An element that is
/// reached twice counts twice. There are at most 2^64 - 1 elements. Along a dimension of stride 0
/// elements are read once.
/// Any thread; allocates nothing. Sums are computed in double precision, in eight partial sums that
/// take elements in turn: their error is below (elements read / 8 + 16) * 2^-53 of the sum of
/// magnitudes. 64-bit integers are rounded to double.
TensorStatistics statistics_of(const void* data, ElementType type,
                               std::span<const std::uint64_t> extents,
                               std::span<const std::int64_t> strides) noexcept;

/// Returns the size of an element in bytes.
std::size_t element_bytes(ElementType type) noexcept;

}  // namespace megascope::kernels
