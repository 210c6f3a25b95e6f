#pragma once

#include "plugin/live/compat_flags.h"

#include <cstdint>
#include <string>
#include <vector>

/// Numbers on their way to clients of the compatibility endpoint. Pure.
namespace megascope::live {

/// values: of `shape`, last dimension fastest; NaN: not a number, or of no element.
struct Numbers {
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};

std::uint64_t product_of(const std::vector<std::uint64_t>& shape);

/// One dimension instead of all behind the first two; [tokens, …] gets a first dimension of 1.
void make_three_dimensions(Numbers& numbers);
/// Rows of `cells` numbers, if they are shorter: those that lack are NaN.
void widen_rows(Numbers& numbers, std::uint64_t cells);
/// Rows of a dimension before the first one, of one value, so that it has `count`; none if it has
/// as many.
void pad_front(Numbers& numbers, std::size_t dimension, std::uint64_t count, float value);
/// Of a dimension its last `count`, if it has more.
void keep_last(Numbers& numbers, std::size_t dimension, std::uint64_t count);

/// An `update`: what is not finite is `null`, as JSON has no word for it.
std::string update_text(int update_type, std::int32_t layer_id,
                        const std::vector<std::uint64_t>& args, const std::vector<float>& values);

}  // namespace megascope::live
