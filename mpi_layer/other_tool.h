#pragma once

#include <string>

/// Another library in the process that wraps MPI calls. Of two such tools the one in front gets the
/// calls; whether the other sees them depends on where the first passes them on to.
namespace megascope::mpi {

enum class OtherTool {
  kNone,
  kBehind,     ///< we are in front and pass calls on to MPI itself: it sees none
  kInFront,    ///< we see what it passes on as MPI_*
  kOursToo,    ///< another MegaScope, behind: it stays off
  kOursFirst,  ///< another MegaScope, in front: we stay off
};

/// By who has MPI_Init, looked up as the loader does it for the program. path: of the other one.
/// After resolve_twins().
OtherTool find_other_tool(std::string& path);

/// The line for the user when recording begins; empty when there is nothing to say.
std::string other_tool_line();

}  // namespace megascope::mpi
