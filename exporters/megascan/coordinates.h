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

/// The coordinates of a rank in the parallel groups that MegaScan knows: data, pipeline, tensor.
struct GridCoordinates {
  std::array<std::int32_t, 3> index{0, 0, 0};
  std::array<std::int32_t, 3> size{1, 1, 1};
};

/// Determines the coordinates of a process in the parallel groups "dp", "pp" and "tp". In a
/// dimension that is not annotated, the index is 0 and the size 1. Returns an error if the process
/// annotates none of the three.
Status coordinates_of(const ProcessInfo& info, GridCoordinates& coordinates);

/// Returns the file name of a rank, for example "benchmark-data-0-pipeline-1-tensor-0.json".
std::string file_name(const GridCoordinates& coordinates);

/// Determines the coordinates of the ranks that this process exports, in the order of
/// source.world_ranks(). source: records of these ranks. members: the processes that export
/// together; all of them must call the function. Returns the same error on all members if a rank
/// has no coordinates, or if two ranks have equal coordinates.
Status find_coordinates(const RecordSource& source, Collective& members,
                        std::vector<GridCoordinates>& by_rank);

}  // namespace megascope::megascan
