#pragma once

#include <cstdint>

namespace megascope {

/// A code region in one process's trace: an MPI function or a user region. 0 is not a region. Ids
/// from 0xFF00 on are reserved for the encoding.
using RegionId = std::uint16_t;
inline constexpr RegionId kNoRegion = 0;
/// First id of regions that the application defines in a live recording; smaller ids are MPI
/// functions.
inline constexpr RegionId kFirstProgramRegion = 1024;
inline constexpr RegionId kFirstReservedRegion = 0xFF00;

/// A communicator in one process's trace, numbered in order of first use. Other processes have
/// other ids for it; CommDefinition::global_name is common to all members.
using CommId = std::uint32_t;
inline constexpr CommId kNoComm = 0xFFFFFFFF;

/// An opened file in one process's trace, or the name of a deleted file, numbered in order of first
/// use. FileDefinition::global_name is common to the processes that opened it together.
using FileId = std::uint32_t;
inline constexpr FileId kNoFile = 0xFFFFFFFF;
/// A window of one-sided communication in one process's trace, numbered in order of first use.
/// WindowDefinition::global_name is common to its members.
using WinId = std::uint32_t;
inline constexpr WinId kNoWin = 0xFFFFFFFF;

/// A group argument of a synchronisation in one process's trace. Equal groups have the same id.
using GroupId = std::uint32_t;
inline constexpr GroupId kNoGroup = 0xFFFFFFFF;

/// Counters and tensor names in one process's trace, each numbered from 0 in order of first use.
using CounterId = std::uint32_t;
using TensorId = std::uint32_t;

/// A stream of events (a thread) in one process's trace, numbered from 0 in order of first use.
using LocationId = std::uint32_t;

/// Identifies a nonblocking operation from its start to its completion. Unique among the operations
/// of a process in flight; 0 is not a request. May wrap around.
using RequestId = std::uint32_t;
inline constexpr RequestId kNoRequest = 0;

/// Values of rank fields that are not ranks of the communicator.
inline constexpr std::int32_t kNoPeer = -1;  ///< the operation has no peer or no root
inline constexpr std::int32_t
    kAnySource = -2;  ///< posted with MPI_ANY_SOURCE and not matched (yet)
inline constexpr std::int32_t
    kSelfRoot = -3;  ///< MPI_ROOT: this process is the root, for the other group
inline constexpr std::int32_t
    kProcNullRoot = -4;  ///< MPI_PROC_NULL as root: takes no part (intercommunicator)
/// Posted with MPI_ANY_TAG and not matched (yet).
inline constexpr std::int32_t kAnyTag = -1;

}  // namespace megascope
