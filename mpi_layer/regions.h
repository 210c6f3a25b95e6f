#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/fn.h"

#include <string>
#include <vector>

/// The functions as the trace and the user know them. Includes no mpi.h.
namespace megascope::mpi {

/// "MPI_Send".
const char* mpi_name(Fn fn) noexcept;
/// "p2p".
const char* group_name(Group group) noexcept;

/// A region for every function, ascending id = Fn.
std::vector<RegionDefinition> all_regions();

/// How much is recorded of a function.
enum class Depth {
  kEnterLeave,
  kObject,  ///< entry, exit, and what the call is about (communicator, window, file), or how large
            ///< what it made is; of its other arguments not all that mean something
  kFullMeaning,
};
struct WrappedFunction {
  std::string name;
  std::string group;
  Depth depth;
  std::string tells;  ///< "communicator, peer, tag, bytes": beyond entry and exit
  bool is_default;    ///< false: recorded when MEGASCOPE_MPI asks for it
};
std::vector<WrappedFunction> wrapped_functions();
/// Functions that the mpi.h of this build declares and that have no wrapper.
std::vector<std::string> functions_not_wrapped();

}  // namespace megascope::mpi
