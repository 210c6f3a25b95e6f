#pragma once

#include "mpi_layer/declared.h"
#include "mpi_layer/fn.h"

#include <cstdint>

/// The pmpi_ procedure behind each Fortran wrapper, and which of them are recorded. Includes no
/// mpi.h.
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

/// 0: mpi_x_; 1: mpi_x_f08_.
constexpr unsigned family_of(Interface interface) {
  return interface == Interface::kFortran08 ? 1 : 0;
}

/// What the application's definition would be without us. Null until resolve_twins() of the family.
extern constinit void* g_twins[kFamilyCount][kRowEnd];
/// As mpi::g_selected, of each row; 0 until resolve_twins(), and where a procedure has no pmpi
/// twin.
extern constinit std::uint8_t g_selected[kFamilyCount][kRowEnd];

/// Finds all twins of a family: the pmpi_ procedures of the object that defines the family's
/// MPI_Init; where one has none, the next definition of mpi_x_, and the calls are not recorded. Any
/// thread, any number of times.
void resolve_twins(Interface interface) noexcept;
/// Takes over mpi::g_selected once that is final: what had been resolved before.
void refresh_selection() noexcept;

/// 1: a procedure has no pmpi twin, and is passed on unrecorded. 2: the recorder has been told.
extern constinit std::uint8_t g_lacks_twin[kFamilyCount][kRowEnd];
/// Such a procedure was called: names it in the trace, "mpi_send_f08_", once, if it would have been
/// recorded. Any thread.
void tell_missing_twin(unsigned family, unsigned row) noexcept;

template <Interface I, Row R, class... Slots>
[[gnu::always_inline]] inline auto twin() noexcept {
  return reinterpret_cast<void (*)(Slots...)>(g_twins[family_of(I)][static_cast<unsigned>(R)]);
}

}  // namespace megascope::mpi::fortran
