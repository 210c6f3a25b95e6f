#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::megascan {

/// Where a rank stands in the parallel groups that MegaScan knows: data, pipeline, tensor.
struct Place {
  std::array<std::int32_t, 3> index{0, 0, 0};
  std::array<std::int32_t, 3> size{1, 1, 1};
};

/// Of a process; an error where it is in none of the groups.
Status place_of(const ProcessInfo& info, Place& place);

/// "benchmark-data-0-pipeline-1-tensor-0.json"
std::string file_name(const Place& place);

/// Places of the member's ranks, in order. Collective: an error, the same on all members, where a
/// rank has none or two have the same.
Status find_places(const RecordSource& source, Collective& members, std::vector<Place>& places);

}  // namespace megascope::megascan
