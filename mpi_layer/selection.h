#pragma once

#include "mpi_layer/fn.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Which functions are recorded: MEGASCOPE_MPI, and MPI_Pcontrol while the program runs. Includes
/// no mpi.h.
namespace megascope::mpi {

/// Bits of a thread's gate and of g_selected: a call is looked at where both have one in common.
inline constexpr std::uint8_t kRecords = 1;  ///< the call is recorded
inline constexpr std::uint8_t
    kBooks = 2;  ///< what later calls refer to is kept up to date, recorded or not

/// Of those on communicators: asks, often, and changes nothing.
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
/// Makes or ends what other calls refer to by a handle.
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
/// Calls that all members of a window, or of those that opened a file, make in the same order.
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
/// Has books to keep while recording is off: what all members of a communicator, window or file
/// count alike, and handles.
constexpr bool keeps_books(Fn fn) {
  return makes_handles(fn) || group_of(fn) == Group::kColl || is_collective_on_window_or_file(fn);
}

/// By Fn. Written before recording begins, read by every wrapper.
extern constinit std::uint8_t g_selected[kFnEnd];

/// Applies the items of MEGASCOPE_MPI in their order: a function (MPI_Iprobe; MPI_I* for all that
/// begin so; letter case does not matter), a group (p2p), all, none or default; with a minus sign
/// in front it is left out. Where the first item names what to record nothing else is, where it
/// leaves something out the rest is as by default. MPI_Init, MPI_Finalize and MPI_Abort are always
/// recorded. Returns a sentence for each item that names nothing; it is passed over.
std::vector<std::string> select_functions(const std::vector<std::string>& items);

/// Is something left out that makes or takes messages, so that the messages of the trace cannot be
/// matched by their order?
bool leaves_out_messages() noexcept;

}  // namespace megascope::mpi
