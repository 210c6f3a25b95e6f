#include "mpi_layer/meaning_local.h"
#include "mpi_layer/meaning_spawn.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using megascope::mpi::Fn;
using megascope::mpi::ResultOf;
using megascope::mpi::TwinType;
using megascope::mpi::Wrapper;

#define MEGASCOPE_MPI(name, group, parameters, arguments)                                  \
  MEGASCOPE_WHERE_DECLARED(name,                                                           \
  extern "C" [[gnu::visibility("default")]] ResultOf<Fn::name> MPI_##name parameters {     \
    return Wrapper<Fn::name, TwinType<Fn::name>::Pointer>::call arguments;                 \
  })
#include "mpi_layer/table/other.inc"
