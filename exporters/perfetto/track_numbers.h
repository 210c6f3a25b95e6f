#pragma once

#include <cstdint>

/// Numbers of processes and tracks, shared by all writers of a file.
namespace megascope::perfetto::tracks {

// Readers treat pid 0 as the idle process, and real pids of different nodes may collide.
inline constexpr std::int64_t kFirstPid = 1'000'000;
inline constexpr std::int32_t kFindingsPid = kFirstPid - 1;
// Tracks of a process: itself, its threads, its lanes. Small numbers, because they are written
// often.
inline constexpr std::uint64_t kTracksPerRank = 1U << 20;
inline constexpr std::uint32_t kProcess = 0;
inline constexpr std::uint32_t kFirstCounter = 1U << 19;  ///< after the threads
inline constexpr std::uint32_t kMaxCounters = (1U << 19) - (1U << 16);
inline constexpr std::uint32_t kFirstRange = kFirstCounter + kMaxCounters;  ///< lanes of ranges
/// The tracks of findings use the numbers from kLast downwards.
inline constexpr std::uint32_t kLast = kTracksPerRank - 1;

inline constexpr std::int32_t pid_of(std::int32_t world_rank) {
  return static_cast<std::int32_t>(kFirstPid + world_rank);
}
/// Returns the uuid of a track. index: kProcess, or another number below kTracksPerRank. world_rank
/// −1: the process of findings.
inline constexpr std::uint64_t of_process(std::int32_t world_rank, std::uint32_t index) {
  return static_cast<std::uint64_t>(std::int64_t{world_rank} + 1) * kTracksPerRank + index;
}

}  // namespace megascope::perfetto::tracks
