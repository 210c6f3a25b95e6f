#pragma once

#include "mpi_layer/lookup/pmpi.h"

/// MEGASCOPE_C_SYMBOL(name, parameters) { body }: defines MPI_<name>.
///
/// Where handles are ints (MPICH), a wrapper passes on 32 bits of each. A program of another MPI
/// library, whose handles are addresses, would lose the upper bits. Therefore the exported symbol
/// is a short piece of code that preserves all registers. It jumps to the wrapper, or, if
/// g_passes_on, to the PMPI entry point.
namespace megascope::mpi {

/// True if MPI was started and is not the library that MegaScope was built for.
[[gnu::visibility("hidden")]] extern bool g_passes_on;

}  // namespace megascope::mpi

#ifdef OPEN_MPI
#define MEGASCOPE_C_SYMBOL(name, parameters)                                                   \
  extern "C" [[gnu::visibility("default")]] megascope::mpi::ResultOf<megascope::mpi::Fn::name> \
      MPI_##name parameters
#else
#define MEGASCOPE_C_SYMBOL(name, parameters)                                                   \
  extern "C" [[gnu::visibility("hidden")]] megascope::mpi::ResultOf<megascope::mpi::Fn::name>  \
      megascope_##name parameters;                                                             \
  extern "C" [[gnu::naked, gnu::visibility("default")]] void megascope_enter_##name() __asm__( \
      "MPI_" #name);                                                                           \
  extern "C" void megascope_enter_##name() {                                                   \
    __asm__("cmpb $0, %c0(%%rip)\n\tje %c2\n\tjmp *%c1(%%rip)"                                 \
            :                                                                                  \
            : "i"(&megascope::mpi::g_passes_on),                                               \
              "i"(&megascope::mpi::g_pmpi[static_cast<unsigned>(megascope::mpi::Fn::name)]),   \
              "i"(&megascope_##name));                                                         \
  }                                                                                            \
  extern "C" megascope::mpi::ResultOf<megascope::mpi::Fn::name> megascope_##name parameters
#endif
