#pragma once

#include <string>

/// Detects another library in the process that wraps MPI calls. The first of two such tools gets
/// the calls; whether the second sees them depends on what the first calls.
namespace megascope::mpi {

enum class OtherTool {
  kNone,
  kBehind,     ///< this library is first and calls MPI itself: the other tool sees nothing
  kInFront,    ///< this library sees the calls that the other tool makes as MPI_*
  kOursToo,    ///< another MegaScope, second: it is inactive
  kOursFirst,  ///< another MegaScope, first: this one is inactive
};

/// Looks up MPI_Init as the dynamic loader does for the application, and returns whether another
/// tool wraps MPI calls, and in which order. path: receives the file of the other tool; unchanged
/// for kNone. Call after resolve_pmpi().
OtherTool find_other_tool(std::string& path);

/// Returns the line for the user at the start of recording; empty if there is no other tool.
std::string other_tool_line();

}  // namespace megascope::mpi
