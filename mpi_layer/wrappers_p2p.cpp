#include "mpi_layer/meaning_p2p.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using megascope::mpi::Fn;
using megascope::mpi::Wrapper;

#define MEGASCOPE_MPI(name, group, parameters, arguments)                 \
  MEGASCOPE_WHERE_DECLARED(name,                                          \
  extern "C" [[gnu::visibility("default")]] int MPI_##name parameters {   \
    return Wrapper<Fn::name, decltype(&::MPI_##name)>::call arguments;    \
  })
#include "mpi_layer/table/p2p.inc"
