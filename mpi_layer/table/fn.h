#pragma once

#include "mpi_layer/table/declared.h"
#include "mpi_layer/table/kind.h"

#include <cstdint>
#include <string_view>

/// MPI functions as numbers, generated from the table. Does not include mpi.h.
namespace megascope::mpi {

/// Language interfaces of MPI: C, mpif.h or `use mpi` (mpi_send_), and `use mpi_f08`
/// (mpi_send_f08_).
enum class Interface : std::uint8_t { kC, kFortran, kFortran08, kCount };
inline constexpr unsigned kInterfaceCount = static_cast<unsigned>(Interface::kCount);

/// `Fn::Send` is MPI_Send. The value is the region id in traces; 0 is no function.
enum class Fn : std::uint16_t {
  kNone = 0,
#define MEGASCOPE_MPI(name, kind, parameters, arguments) MEGASCOPE_WHERE_DECLARED(name, name, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
  kEnd
};
inline constexpr unsigned kFnEnd = static_cast<unsigned>(Fn::kEnd);

/// Returns the properties in the function's row of the table.
constexpr Kind kind_of(Fn fn) {
  using enum Group;
  using enum CollectiveOp;
  using enum Trait;
  constexpr Kind kKinds[] = {
      kEnv,  // of Fn::kNone
#define MEGASCOPE_MPI(name, kind, parameters, arguments) MEGASCOPE_WHERE_DECLARED(name, kind, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
  };
  return kKinds[static_cast<unsigned>(fn)];
}
constexpr Group group_of(Fn fn) { return kind_of(fn).group; }

/// Returns the name without "MPI_".
constexpr std::string_view name_of(Fn fn) {
  constexpr std::string_view kNames[] = {
      "",
#define MEGASCOPE_MPI(name, kind, parameters, arguments) MEGASCOPE_WHERE_DECLARED(name, #name, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
  };
  return kNames[static_cast<unsigned>(fn)];
}

/// Returns whether the function is recorded if MEGASCOPE_MPI does not select or omit it.
constexpr bool is_recorded_by_default(Fn fn) {
  const Group group = group_of(fn);
  return group != Group::kConvert && group != Group::kTime && group != Group::kTool;
}
/// Returns whether the function returns a value instead of an error code.
constexpr bool returns_value(Fn fn) {
  return group_of(fn) == Group::kConvert || group_of(fn) == Group::kTime;
}

}  // namespace megascope::mpi
