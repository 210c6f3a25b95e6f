#include "mpi_layer/semantics/p2p.h"

#include "mpi_layer/lookup/c_symbol.h"
#include "mpi_layer/semantics/local.h"
#include "mpi_layer/semantics/polls.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using megascope::mpi::Fn;
using megascope::mpi::PmpiType;
using megascope::mpi::Wrapper;

#define MEGASCOPE_MPI(name, kind, parameters, arguments)                       \
  MEGASCOPE_WHERE_DECLARED(                                                    \
      name, MEGASCOPE_C_SYMBOL(name, parameters) {                             \
        return Wrapper<Fn::name, PmpiType<Fn::name>::Pointer>::call arguments; \
      })
#include "mpi_layer/table/p2p.inc"
