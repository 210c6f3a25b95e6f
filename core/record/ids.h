#pragma once

#include <cstdint>

namespace megascope {

/// A code region within one process's trace: an MPI function or a user region. 0 is never a region;
/// ids from 0xFF00 on are reserved for the encoding.
using RegionId = std::uint16_t;
inline constexpr RegionId kNoRegion = 0;
/// Regions that the program defines (hooks) in a live recording have ids from here on; below are
/// MPI's.
inline constexpr RegionId kFirstProgramRegion = 1024;
inline constexpr RegionId kFirstReservedRegion = 0xFF00;

/// A communicator within one process's trace, numbered in order of first sight. The same
/// communicator has other ids in other processes; `CommDefinition::global_name` is what they share.
using CommId = std::uint32_t;
inline constexpr CommId kNoComm = 0xFFFFFFFF;

/// An opening of a file within one process's trace, or the name of a file that was deleted;
/// numbered in order of first sight. `FileDefinition::global_name` is what the processes share that
/// opened it together.
using FileId = std::uint32_t;
inline constexpr FileId kNoFile = 0xFFFFFFFF;
/// A window of one-sided communication within one process's trace, numbered in order of first
/// sight. `WindowDefinition::global_name` is what its members share.
using WinId = std::uint32_t;
inline constexpr WinId kNoWin = 0xFFFFFFFF;

/// A group of processes that a synchronisation names, within one process's trace; equal groups have
/// one id.
using GroupId = std::uint32_t;
inline constexpr GroupId kNoGroup = 0xFFFFFFFF;

/// Counters, and names of tensors, within one process's trace, numbered from 0 in order of first
/// sight.
using CounterId = std::uint32_t;
using TensorId = std::uint32_t;

/// A stream of events (a thread) within one process's trace, numbered from 0 in order of first
/// sight.
using LocationId = std::uint32_t;

/// Follows a nonblocking operation from its start to its completion. Unique among the operations of
/// a process that are in flight; 0 is no request. May wrap around.
using RequestId = std::uint32_t;
inline constexpr RequestId kNoRequest = 0;

/// Ranks that are not ranks of the communicator.
inline constexpr std::int32_t kNoPeer = -1;  ///< no peer or no root: the operation has none
inline constexpr std::int32_t
    kAnySource = -2;  ///< posted with MPI_ANY_SOURCE and not (yet) matched
inline constexpr std::int32_t
    kSelfRoot = -3;  ///< MPI_ROOT: this process is the root, of the other group
inline constexpr std::int32_t
    kProcNullRoot = -4;  ///< MPI_PROC_NULL as root: takes no part (intercommunicator)
/// Posted with MPI_ANY_TAG and not (yet) matched.
inline constexpr std::int32_t kAnyTag = -1;

}  // namespace megascope
