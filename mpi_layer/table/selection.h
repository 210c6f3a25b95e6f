#pragma once

#include "mpi_layer/table/fn.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Selection of recorded functions: by MEGASCOPE_MPI, and by MPI_Pcontrol at run time. Does not
/// include mpi.h.
namespace megascope::mpi {

/// Bits of a thread's gate and of g_selected: a call is intercepted if both have a common bit.
inline constexpr std::uint8_t kRecords = 1;  ///< the call is recorded
inline constexpr std::uint8_t
    kTracking = 2;  ///< the objects that later calls refer to are tracked, recorded or not

/// Returns whether the function is a frequent query on a communicator without side effects.
constexpr bool only_asks(Fn fn) {
  switch (fn) {
    case Fn::Comm_rank:
    case Fn::Comm_size:
    case Fn::Comm_remote_size:
    case Fn::Comm_test_inter:
    case Fn::Comm_compare:
    case Fn::Comm_get_name:
    case Fn::Topo_test:
    case Fn::Dims_create:
    case Fn::Cart_rank:
    case Fn::Cart_coords:
    case Fn::Cart_shift:
    case Fn::Cart_get:
    case Fn::Cartdim_get:
      return true;
    default:
      return false;
  }
}
/// Returns whether the function creates or frees an object with a handle.
constexpr bool makes_handles(Fn fn) {
  if (only_asks(fn)) return false;
  switch (group_of(fn)) {
    case Group::kComm:
    case Group::kTopo:
    case Group::kSpawn:
      return true;
    default:
      return fn == Fn::Type_free || fn == Fn::File_open || fn == Fn::File_close ||
             fn == Fn::Win_create || fn == Fn::Win_allocate || fn == Fn::Win_allocate_shared ||
             fn == Fn::Win_create_dynamic || fn == Fn::Win_free;
  }
}
/// Returns whether the function is collective over the members of a window, or over the processes
/// that opened a file.
constexpr bool is_collective_on_window_or_file(Fn fn) {
  if (group_of(fn) == Group::kRma) return fn == Fn::Win_fence || fn == Fn::Win_free;
  if (group_of(fn) != Group::kIo) return false;
  const std::string_view name = name_of(fn);
  return name.find("_all") != std::string_view::npos ||
         name.find("_ordered") != std::string_view::npos || fn == Fn::File_close ||
         fn == Fn::File_set_view || fn == Fn::File_set_size || fn == Fn::File_preallocate ||
         fn == Fn::File_sync || fn == Fn::File_set_atomicity || fn == Fn::File_set_info ||
         fn == Fn::File_seek_shared;
}
/// Returns whether the function is tracked while recording is off: it changes counts that all
/// members of a communicator, window or file have in common, or handles.
constexpr bool tracks_handles(Fn fn) {
  return makes_handles(fn) || group_of(fn) == Group::kColl || is_collective_on_window_or_file(fn);
}

/// By Fn. Written before recording starts, read by every wrapper.
extern constinit std::uint8_t g_selected[kFnEnd];

/// Applies the items of MEGASCOPE_MPI in order. An item is a function (MPI_Iprobe; MPI_I* for a
/// prefix; any letter case), a group (p2p), all, none or default; with a leading minus sign it is
/// omitted. If the first item selects, nothing else is recorded; if it omits, the default applies
/// to the rest. MPI_Init, MPI_Finalize and MPI_Abort are always recorded. Returns a sentence for
/// each item that is invalid; it is ignored.
std::vector<std::string> select_functions(const std::vector<std::string>& items);

/// Returns whether a function that sends or receives messages is not recorded, so that messages
/// cannot be matched by their order.
bool leaves_out_messages() noexcept;

}  // namespace megascope::mpi
