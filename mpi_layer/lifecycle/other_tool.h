#pragma once

#include <string>

/// Detects another library in the process that wraps MPI calls. The dynamic loader passes the
/// application's calls to the first of two such tools. The second tool sees only MPI_ calls that
/// the first makes.
namespace megascope::mpi {

enum class OtherTool {
  kNone,       ///< no other tool wraps MPI calls
  kBehind,     ///< this library is first; it calls PMPI, so that the other tool sees no calls
  kInFront,    ///< the other tool is first; this library sees the MPI_ calls that the other tool
               ///< makes
  kOursToo,    ///< this library is first; the other tool is another MegaScope, which is inactive
  kOursFirst,  ///< the other tool is first and is another MegaScope; this library is inactive
};

/// Looks up MPI_Init as the dynamic loader does for the application, and returns whether another
/// tool wraps MPI calls, and in which order. path: receives the file of the other tool; unchanged
/// for kNone. Call after resolve_pmpi().
OtherTool find_other_tool(std::string& path);

/// Returns the line for the user at the start of recording; empty if there is no other tool.
std::string other_tool_line();

}  // namespace megascope::mpi
