#pragma once

#include <cstdint>

#include "mpi_layer/declared.h"

/// MPI functions as numbers, from the table. Includes no mpi.h.
namespace megascope::mpi {

/// Groups of functions, for selection and for people.
enum class Group : std::uint8_t {
  kP2p, kRequest, kColl, kComm, kTopo, kGroup, kAttr, kError, kInfo, kType, kOp, kEnv, kSpawn, kIo, kRma, kCount
};

/// `Fn::Send` is MPI_Send. The value is the region id in traces; 0 is no function.
enum class Fn : std::uint16_t {
  kNone = 0,
#define MEGASCOPE_MPI(name, group, parameters, arguments) MEGASCOPE_WHERE_DECLARED(name, name,)
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
  kEnd
};
inline constexpr unsigned kFnEnd = static_cast<unsigned>(Fn::kEnd);

constexpr Group group_of(Fn fn) {
  constexpr Group kGroups[] = {
      Group::kEnv,  // of kNone
#define MEGASCOPE_MPI(name, group, parameters, arguments) MEGASCOPE_WHERE_DECLARED(name, Group::group,)
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
  };
  return kGroups[static_cast<unsigned>(fn)];
}

constexpr std::uint32_t bit(Group group) { return std::uint32_t{1} << static_cast<unsigned>(group); }
inline constexpr std::uint32_t kAllGroups = (std::uint32_t{1} << static_cast<unsigned>(Group::kCount)) - 1;

}  // namespace megascope::mpi
