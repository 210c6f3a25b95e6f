#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/fn.h"

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

/// How much of a function is recorded.
enum class Depth {
  kEnterLeave,
  kObject,  ///< entry, return, and the call's object (communicator, window, file) or the size of
            ///< what it created; not all meaningful arguments
  kFullSemantics,
};
struct WrappedFunction {
  std::string name;
  std::string group;
  Depth depth;
  std::string
      recorded_fields;  ///< "communicator, peer, tag, bytes": recorded besides entry and return
  bool is_default;      ///< false: recorded only if MEGASCOPE_MPI selects it
};
std::vector<WrappedFunction> wrapped_functions();
/// Returns the functions that the mpi.h of this build declares and that have no wrapper.
std::vector<std::string> functions_not_wrapped();

}  // namespace megascope::mpi
