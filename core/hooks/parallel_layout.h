#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::hooks {

/// Letters, digits, '-' and '_'; at most 64.
bool is_dimension_name(std::string_view name);

/// Where a rank stands in the dimensions that `items` name: "tp=2", "pp=4", and once "order=tp-pp":
/// the dimension named first changes fastest with the rank. Without an order it is as written; it
/// names each dimension once. The sizes' product is the world's. On an error nothing, and the
/// sentence that says why.
std::vector<ParallelIndex> places_in(const std::vector<std::string>& items, std::int32_t world_rank,
                                     std::int32_t world_size, std::string& problem);

}  // namespace megascope::hooks
