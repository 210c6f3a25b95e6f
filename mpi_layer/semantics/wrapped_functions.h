#pragma once

#include <string>
#include <vector>

/// How much of each function is recorded, for users. Does not include mpi.h.
namespace megascope::mpi {

/// How much of a function is recorded.
enum class Depth {
  kEnterLeave,  ///< entry and return only
  kObject,  ///< entry, return, and the object of the call (communicator, window, file) or the size
            ///< of the object that it created; not all meaningful arguments
  kFullSemantics,  ///< entry, return and all meaningful arguments
};
struct WrappedFunction {
  std::string name;
  std::string group;
  Depth depth;
  std::string recorded_fields;  ///< data recorded in addition to entry and return: "communicator,
                                ///< peer, tag, bytes"
  bool is_default;              ///< false: recorded only if MEGASCOPE_MPI selects it
};
/// Returns all functions that have a wrapper, by name.
std::vector<WrappedFunction> wrapped_functions();

}  // namespace megascope::mpi
