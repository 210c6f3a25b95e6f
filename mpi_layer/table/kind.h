#pragma once

#include "core/record/definitions.h"

#include <cstdint>

/// The properties of a function in its row of the function table. Does not include mpi.h.
namespace megascope::mpi {

/// Groups of functions, for selection and display.
enum class Group : std::uint8_t {
  kP2p,
  kRequest,
  kColl,
  kComm,
  kTopo,
  kGroup,
  kAttr,
  kError,
  kInfo,
  kType,
  kOp,
  kEnv,
  kSpawn,
  kIo,
  kRma,
  kConvert,
  kTime,
  kTool,
  kCount
};

enum class Trait : std::uint8_t {
  kAlwaysTracked = 1,       ///< makes, changes or frees an object with a handle: tracked even if
                            ///< MEGASCOPE_MPI omits it. Implied by kCreateHandle
  kCollectiveOnObject = 2,  ///< collective over the members of a window, or over the processes that
                            ///< opened a file
};

/// The second argument of a row: `kColl | kAllreduce`, `kComm | kCreateHandle`, `kIo`.
struct Kind {
  Group group;
  CollectiveOp op = CollectiveOp::kNone;
  std::uint8_t traits = 0;

  constexpr Kind(Group of) : group(of) {}

  constexpr bool has(Trait trait) const { return (traits & static_cast<std::uint8_t>(trait)) != 0; }
};

/// Adds a collective operation to a kind. Functions of the group kColl have one. Functions that are
/// collective over a whole communicator and create another communicator have kCreateHandle.
constexpr Kind operator|(Kind kind, CollectiveOp op) {
  kind.op = op;
  return kind;
}
constexpr Kind operator|(Kind kind, Trait trait) {
  kind.traits |= static_cast<std::uint8_t>(trait);
  return kind;
}

}  // namespace megascope::mpi
