#pragma once

#include "core/base/status.h"
#include "mpi_layer/fn.h"

#include <mpi.h>

#include <string>

/// The PMPI_ function behind each wrapper, found at run time in the object that defines PMPI_Init:
/// the library itself refers to no symbol of MPI.
namespace megascope::mpi {

template <Fn F>
struct TwinType;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define MEGASCOPE_MPI(name, group, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(                               \
      name, template <> struct TwinType<Fn::name> { using Pointer = decltype(&::MPI_##name); };)
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
using ResultOf = typename ResultOfPointer<typename TwinType<F>::Pointer>::Type;

/// By Fn. Until the first call of any wrapper each entry leads to a function that finds all of
/// them.
[[gnu::visibility("hidden")]] extern void* g_twins[kFnEnd];

/// The PMPI_ function, or the next definition of MPI_x where there is no PMPI_x.
template <Fn F>
inline typename TwinType<F>::Pointer twin() noexcept {
  return reinterpret_cast<typename TwinType<F>::Pointer>(g_twins[static_cast<unsigned>(F)]);
}

/// Finds all twins; done by the first wrapper entered. Any thread, any number of times.
void resolve_twins() noexcept;

/// Data of the MPI library, where the program sees it. nullptr: not there.
void* mpi_symbol(const char* name) noexcept;

/// Is the MPI library at run time the one this was built for? Otherwise a sentence that names both.
Status check_mpi_library();
/// All of MPI_Get_library_version.
std::string mpi_library_text();
/// Its first line: "MPICH 4.0.2".
std::string mpi_library_version();

}  // namespace megascope::mpi
