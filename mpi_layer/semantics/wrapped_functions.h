#pragma once

#include <string>
#include <vector>

/// How much of each function is recorded, for users. Does not include mpi.h.
namespace megascope::mpi {

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
/// Returns all functions that have a wrapper, by name.
std::vector<WrappedFunction> wrapped_functions();

}  // namespace megascope::mpi
