#pragma once

#include <megascope_generated/declared.h>

/// The text where the mpi.h of this build declares MPI_<name>, else nothing: older and newer MPI
/// libraries lack some of the functions in the tables. The list is made when the build is
/// configured (list_header_functions.cmake).
#define MEGASCOPE_WHERE_DECLARED(name, ...) MEGASCOPE_DECLARED_##name(__VA_ARGS__)
