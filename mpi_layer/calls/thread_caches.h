#pragma once

#include "core/record/ids.h"

#include <cstdint>

namespace megascope::mpi {

struct CommState;
struct FileState;
struct WinState;

/// What a thread has found in the tables of handles, so that most calls need no lock. A cache is
/// valid while its generation is that of the table (mpi_layer/handles). Zeroed memory is an empty
/// cache. Used by the owning thread only.
struct ThreadCaches {
  /// Cache of return addresses (call_sites.h).
  struct SiteSlot {
    std::uintptr_t address;
    std::uint32_t id;
  };
  struct CommSlot {
    std::uint64_t key;
    CommState* state;
  };
  struct TypeSlot {
    std::uint64_t key;
    std::uint64_t size_bytes;
  };
  struct FileSlot {
    std::uint64_t key;
    FileState* state;
  };
  /// Cache of Fortran handles of communicators and datatypes.
  struct FortranSlot {
    std::uint32_t number_plus_1;  ///< 0: none
    std::uint64_t handle;
  };
  struct WinSlot {
    std::uint64_t key;
    WinState* state;
  };
  struct GroupSlot {
    std::uint64_t key;
    std::uint64_t generation;
    GroupId id;
  };
  static constexpr unsigned kSiteSlots = 64;
  static constexpr unsigned kHandleSlots = 16;
  static constexpr unsigned kFileSlots = 4;
  static constexpr unsigned kWindowSlots = 8;

  std::uint64_t comm_generation;
  std::uint64_t type_generation;
  std::uint64_t file_generation;
  SiteSlot sites[kSiteSlots];
  CommSlot comms[kHandleSlots];
  TypeSlot types[kHandleSlots];
  FileSlot files[kFileSlots];
  std::uint64_t fortran_comm_generation;
  std::uint64_t fortran_type_generation;
  FortranSlot fortran_comms[kHandleSlots];
  FortranSlot fortran_types[kHandleSlots];
  std::uint64_t window_generation;
  WinSlot windows[kWindowSlots];
  GroupSlot group;  ///< group of the last synchronisation
};

}  // namespace megascope::mpi
