#pragma once

#include "core/base/status.h"

#include <atomic>
#include <cstdint>
#include <string>

/// How much of a node's disk and memory the buffers of a job may take.
namespace megascope::trace {

/// Bytes that the buffers leave free on a file system of `total_bytes`: 5 %, at least 1 GiB and at
/// most 16 GiB; an eighth of a file system below 8 GiB.
std::uint64_t free_space_floor(std::uint64_t total_bytes) noexcept;

/// What one of `local_ranks` processes may hold in memory that counts as used: a sixteenth of what
/// is available and of what it holds itself, divided by the number of processes.
std::uint64_t memory_share(std::uint64_t available_bytes, std::uint64_t held_bytes,
                           std::uint32_t local_ranks) noexcept;

/// The smallest of MemAvailable and of what the limits of this process's memory cgroups (v1 and v2,
/// with all parents) leave. Page cache that the kernel can drop counts as available. ~0: not known.
/// root: directory that stands for "/"; for tests.
std::uint64_t available_memory_bytes(const std::string& root = {});

/// Limits of one file of buffers. The default limits nothing. Any thread.
class Room {
 public:
  Room() = default;

  /// What is being asked for. Definitions make records readable: half of the floor, and twice the
  /// share of memory, are theirs.
  enum class Use { kEvents, kDefinitions };

  /// Of the file system that holds the buffers.
  enum class Kind {
    kDisk,
    kLateDisk,  ///< reports free space late, when written data gets its blocks (btrfs, zfs,
                ///< network)
    kMemory
  };

  /// Starts to limit. local_ranks: processes of the job on this node. file: open, still empty.
  /// root: see available_memory_bytes().
  void limit(std::uint32_t local_ranks, Kind kind, int file, const std::string& root = {});

  /// May the file grow by more_bytes? An error says what is free and what stays free. held_bytes:
  /// of the file now. `file` is open. Room for one chunk of every local process is asked for, so
  /// that all may ask at the same moment. kLateDisk: in addition, local_ranks files of that size
  /// must have fitted into what was free at first.
  Status check(int file, const std::string& path, std::uint64_t held_bytes,
               std::uint64_t more_bytes, Use use) const;

  /// The share of memory at the time of limit(); ~0 where the file system is not in memory.
  std::uint64_t memory_bytes() const noexcept { return first_share_bytes_; }

 private:
  Status check_disk(int file, const std::string& path, std::uint64_t held_bytes,
                    std::uint64_t more_bytes, std::uint64_t part) const;
  std::uint64_t share_bytes(std::uint64_t held_bytes) const;

  std::uint32_t local_ranks_ = 0;  ///< 0: nothing is limited
  Kind kind_ = Kind::kDisk;
  std::uint64_t first_free_bytes_ = 0;
  std::string root_;
  std::uint64_t first_share_bytes_ = ~std::uint64_t{0};
  mutable std::atomic<std::uint64_t> share_bytes_{~std::uint64_t{0}};  ///< as last read
  mutable std::atomic<std::uint64_t> read_again_at_{0};                ///< bytes held
};

}  // namespace megascope::trace
