#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/table/fn.h"

#include <string>
#include <vector>

/// Names and properties of the functions for traces and users. Does not include mpi.h.
namespace megascope::mpi {

/// Returns the name: "MPI_Send".
const char* mpi_name(Fn fn) noexcept;
/// Returns the name of the group: "p2p".
const char* group_name(Group group) noexcept;

/// Returns one region for each function, in ascending order. The id of a region is the value of its
/// Fn.
std::vector<RegionDefinition> all_regions();

/// Returns the functions that the mpi.h of this build declares and that have no wrapper.
std::vector<std::string> functions_not_wrapped();

}  // namespace megascope::mpi
