#include "mpi_layer/fortran/intercept.h"
#include "mpi_layer/semantics/io.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, MEGASCOPE_FORTRAN_WRAPPERS(name, lower, upper, slots, arguments))
#include <fortran_io.inc>
