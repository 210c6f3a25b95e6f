#pragma once

#include "mpi_layer/table/declared.h"
#include "mpi_layer/table/fn.h"

#include <cstdint>

/// The pmpi_ procedure of each Fortran wrapper, and the selection of recorded procedures. Does not
/// include mpi.h.
namespace megascope::mpi::fortran {

/// `Row::send` is mpi_send_ and mpi_send_f08_.
enum class Row : std::uint16_t {
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, lower##_, )
#include "mpi_layer/fortran/rows.inc"
#undef MEGASCOPE_FORTRAN
  kEnd
};
inline constexpr unsigned kRowEnd = static_cast<unsigned>(Row::kEnd);
inline constexpr unsigned kFamilyCount = 2;

/// Returns 0 for mpi_x_, 1 for mpi_x_f08_.
constexpr unsigned family_of(Interface interface) {
  return interface == Interface::kFortran08 ? 1 : 0;
}

/// The procedure that the application would call without this library. Null until resolve_pmpi()
/// of the family.
extern constinit void* g_pmpi[kFamilyCount][kRowEnd];
/// Bits of each procedure, like mpi::g_selected. 0 before resolve_pmpi(), and for procedures
/// without a pmpi entry point.
extern constinit std::uint8_t g_selected[kFamilyCount][kRowEnd];

/// Looks up all entry points of a family: the pmpi_ procedures of the object that defines the
/// family's MPI_Init. For a procedure without pmpi_ entry point, uses the next definition of
/// mpi_x_; its calls are not recorded. Any thread, any number of times.
void resolve_pmpi(Interface interface) noexcept;
/// Copies mpi::g_selected to the families that are already resolved. Call when mpi::g_selected is
/// final.
void refresh_selection() noexcept;

/// State of each procedure. 0: it has a pmpi entry point. 1: it has none, so that its calls are not
/// recorded. 2: like 1, and a call of it was noted in the trace.
extern constinit std::uint8_t g_lacks_pmpi[kFamilyCount][kRowEnd];
/// Notes in the trace, once, that a procedure without pmpi entry point ("mpi_send_f08_") was
/// called, if MEGASCOPE_MPI selects it. Any thread.
void record_missing_pmpi(unsigned family, unsigned row) noexcept;

template <Interface I, Row R, class... Slots>
[[gnu::always_inline]] inline auto pmpi() noexcept {
  return reinterpret_cast<void (*)(Slots...)>(g_pmpi[family_of(I)][static_cast<unsigned>(R)]);
}

}  // namespace megascope::mpi::fortran
