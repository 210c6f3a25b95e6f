#pragma once

#include "mpi_layer/table/fn.h"

#include <cstdint>
#include <string>
#include <vector>

/// Selection of recorded functions: by MEGASCOPE_MPI, and by MPI_Pcontrol at run time. Does not
/// include mpi.h.
namespace megascope::mpi {

/// Bits of a thread's gate and of g_selected: a call is intercepted if both have a common bit.
inline constexpr std::uint8_t kRecords = 1;  ///< the call is recorded
inline constexpr std::uint8_t
    kTracking = 2;  ///< the objects that later calls refer to are tracked, recorded or not

/// Returns whether the function is tracked even if MEGASCOPE_MPI omits it.
constexpr bool is_always_tracked(Fn fn) {
  return kind_of(fn).op == CollectiveOp::kCreateHandle || kind_of(fn).has(Trait::kAlwaysTracked);
}
/// Returns whether the function is tracked while recording is off. This is so if it makes, changes
/// or frees handles, or if it changes a count that must be equal in all members of a communicator,
/// window or file.
constexpr bool tracks_handles(Fn fn) {
  return is_always_tracked(fn) || group_of(fn) == Group::kColl ||
         kind_of(fn).has(Trait::kCollectiveOnObject);
}

/// Bits of each function, indexed by Fn. Written before recording starts; every wrapper reads its
/// element.
extern constinit std::uint8_t g_selected[kFnEnd];

/// Applies the items of MEGASCOPE_MPI in order. An item is a function (MPI_Iprobe; MPI_I* for a
/// prefix; any letter case), a group (p2p), all, none or default; with a leading minus sign it is
/// omitted. If the first item selects functions, only selected functions are recorded. If it omits
/// functions, the default applies to all others. MPI_Init, MPI_Finalize and MPI_Abort are always
/// recorded. Ignores invalid items and returns a sentence for each.
std::vector<std::string> select_functions(const std::vector<std::string>& items);

/// Returns whether a function that sends or receives messages is not recorded, so that messages
/// cannot be matched by their order.
bool leaves_out_messages() noexcept;

}  // namespace megascope::mpi
