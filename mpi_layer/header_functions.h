#pragma once

namespace megascope::mpi {

/// Names of all functions that the mpi.h of this build declares, ascending, ending with nullptr.
/// The definition is made at build time (list_header_functions.cmake).
extern const char* const kHeaderFunctions[];

}  // namespace megascope::mpi
