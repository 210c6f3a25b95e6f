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

/// Returns a region for every function; the ascending ids are Fn.
std::vector<RegionDefinition> all_regions();

/// Returns the functions that the mpi.h of this build declares and that have no wrapper.
std::vector<std::string> functions_not_wrapped();

}  // namespace megascope::mpi
