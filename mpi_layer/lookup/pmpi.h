#pragma once

#include "core/base/status.h"
#include "mpi_layer/table/fn.h"

#include <mpi.h>

#include <string>

/// The PMPI entry point of each wrapper. Entry points are looked up at run time in the object that
/// defines PMPI_Init, so that the library refers to no MPI symbol.
namespace megascope::mpi {

template <Fn F>
struct PmpiType;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(                              \
      name, template <> struct PmpiType<Fn::name> { using Pointer = decltype(&::MPI_##name); };)
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
#pragma GCC diagnostic pop

template <class Pointer>
struct ResultOfPointer;
template <class Result, class... Args>
struct ResultOfPointer<Result (*)(Args...)> {
  using Type = Result;
};
template <Fn F>
using ResultOf = typename ResultOfPointer<typename PmpiType<F>::Pointer>::Type;

/// PMPI entry points, indexed by Fn. Before the first call of a wrapper, each element is a function
/// that looks up all entry points.
[[gnu::visibility("hidden")]] extern void* g_pmpi[kFnEnd];

/// Returns the PMPI entry point of F, or the next definition of MPI_x if there is no PMPI_x.
template <Fn F>
inline typename PmpiType<F>::Pointer pmpi() noexcept {
  return reinterpret_cast<typename PmpiType<F>::Pointer>(g_pmpi[static_cast<unsigned>(F)]);
}

/// Looks up all entry points; called by the first wrapper entered. Any thread, any number of times.
void resolve_pmpi() noexcept;

/// Returns the address of a data symbol of the MPI library, as the application sees it; nullptr if
/// it does not exist.
void* mpi_symbol(const char* name) noexcept;

/// Checks that the MPI library at run time is the one that MegaScope was built for. The error names
/// both.
Status check_mpi_library();
/// Returns the text of MPI_Get_library_version.
std::string mpi_library_text();
/// Returns the first line of mpi_library_text(): "MPICH 4.0.2".
std::string mpi_library_version();

}  // namespace megascope::mpi
