#pragma once

#include <megascope_generated/declared.h>

/// Expands to the arguments if the mpi.h of this build declares MPI_<name>, else to nothing: MPI
/// libraries lack some functions of the tables. The list is generated at configuration
/// (list_header_functions.cmake).
#define MEGASCOPE_WHERE_DECLARED(name, ...) MEGASCOPE_DECLARED_##name(__VA_ARGS__)
