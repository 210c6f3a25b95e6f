#pragma once

#include "plugin/live/compat/flags.h"

#include <cstdint>
#include <string>
#include <vector>

/// Arrays of numbers for clients of the compatibility endpoint. The functions have no
/// state.
namespace megascope::live {

/// A dense array, last dimension fastest. An entry is NaN if its value is NaN or if there is no
/// element for it.
struct Numbers {
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};

/// The product of the extents.
std::uint64_t product_of(const std::vector<std::uint64_t>& shape);

/// Reshapes an array to three dimensions. If it has more, the dimensions after the second are
/// merged. If it has fewer, a first dimension of extent 1 is inserted.
void make_three_dimensions(Numbers& numbers);
/// Widens the last dimension to `cells`, filled with NaN. No effect if it is at least as large.
void widen_rows(Numbers& numbers, std::uint64_t cells);
/// Inserts entries with the value `value` at the front of a dimension until it has `count` entries.
/// No effect if it has at least as many.
void pad_front(Numbers& numbers, std::size_t dimension, std::uint64_t count, float value);
/// Removes all but the last `count` entries of a dimension. No effect if it has no more than
/// `count`.
void keep_last(Numbers& numbers, std::size_t dimension, std::uint64_t count);

/// The message `update`. Non-finite values become `null`, because JSON cannot express them.
std::string update_text(int update_type, std::int32_t layer_id,
                        const std::vector<std::uint64_t>& args, const std::vector<float>& values);

}  // namespace megascope::live
