#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::hooks {

/// Returns whether `name` has 1 to 64 letters, digits, '-' and '_'.
bool is_dimension_name(std::string_view name);

/// Returns the coordinates of a rank in the dimensions of a layout. items: "tp=2", "pp=4" and at
/// most one "order=tp-pp". The first dimension of `order` changes fastest with the rank. `order`
/// must name each dimension once; without `order`, the order of the items is used. The product of
/// the sizes must be world_size. On an error returns an empty list and stores a sentence in
/// `problem`.
std::vector<ParallelIndex> places_in(const std::vector<std::string>& items, std::int32_t world_rank,
                                     std::int32_t world_size, std::string& problem);

}  // namespace megascope::hooks
