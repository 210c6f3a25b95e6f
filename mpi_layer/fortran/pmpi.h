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
/// As mpi::g_selected, for each row; 0 until resolve_pmpi(), and for procedures without a pmpi
/// entry point.
extern constinit std::uint8_t g_selected[kFamilyCount][kRowEnd];

/// Looks up all entry points of a family: the pmpi_ procedures of the object that defines the
/// family's MPI_Init; where one has none, the next definition of mpi_x_, whose calls are not
/// recorded. Any thread, any number of times.
void resolve_pmpi(Interface interface) noexcept;
/// Copies mpi::g_selected for the families resolved before, once it is final.
void refresh_selection() noexcept;

/// 1: the procedure has no pmpi entry point and is passed on unrecorded. 2: noted in the recorder.
extern constinit std::uint8_t g_lacks_pmpi[kFamilyCount][kRowEnd];
/// Notes in the trace, once, that such a procedure ("mpi_send_f08_") was called, if it would have
/// been recorded. Any thread.
void record_missing_pmpi(unsigned family, unsigned row) noexcept;

template <Interface I, Row R, class... Slots>
[[gnu::always_inline]] inline auto pmpi() noexcept {
  return reinterpret_cast<void (*)(Slots...)>(g_pmpi[family_of(I)][static_cast<unsigned>(R)]);
}

}  // namespace megascope::mpi::fortran
