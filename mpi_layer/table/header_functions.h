#pragma once

namespace megascope::mpi {

/// Names of all functions that the mpi.h of this build declares, ascending, terminated by nullptr.
/// Generated at build time (list_header_functions.cmake).
extern const char* const kHeaderFunctions[];

}  // namespace megascope::mpi
