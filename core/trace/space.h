#pragma once

#include "core/base/status.h"

#include <atomic>
#include <cstdint>
#include <string>

/// Limits of the disk space and memory that the buffers of a job take on a node.
namespace megascope::trace {

/// Returns the bytes that the buffers leave free on a file system of `total_bytes`: 5 %, at least 1
/// GiB and at most 16 GiB; for file systems smaller than 8 GiB, an eighth.
std::uint64_t free_space_floor(std::uint64_t total_bytes) noexcept;

/// Returns the bytes that one of `local_ranks` processes may hold in memory: (available_bytes +
/// held_bytes) / 16 / local_ranks. held_bytes: what the process holds already, which is not
/// available any more. Returns ~0 if available_bytes is ~0 (unknown).
std::uint64_t memory_share(std::uint64_t available_bytes, std::uint64_t held_bytes,
                           std::uint32_t local_ranks) noexcept;

/// Returns the largest size of the trace of one of `local_ranks` processes for
/// MEGASCOPE_BUFFER_SIZE=auto: half of what is free above free_space_floor() on the file system of
/// an existing directory, divided among them; at least 1 MiB and at most 1 TiB. 1 GiB if the free
/// space is unknown.
std::uint64_t disk_share(const std::string& directory, std::uint32_t local_ranks) noexcept;

/// Returns the available memory: the minimum of MemAvailable and of what the limits of this
/// process's memory cgroups leave (v1 and v2, with all parents). Page cache that the kernel can
/// drop counts as available. ~0: unknown. root: directory that stands for "/", for tests.
std::uint64_t available_memory_bytes(const std::string& root = {});

/// Limits of one trace file. A default-constructed object limits nothing. Any thread.
class Space {
 public:
  Space() = default;

  /// Purpose of the space. Definitions may use more than events, because events cannot be read
  /// without them.
  enum class Use {
    kEvents,      ///< free_space_floor() stays free; takes at most memory_share()
    kDefinitions  ///< half of free_space_floor() stays free; takes at most twice memory_share()
  };

  /// Kind of the file system that holds the buffers.
  enum class Kind {
    kDisk,
    kLateDisk,  ///< reports free space late, when written data gets its blocks (btrfs, zfs,
                ///< network)
    kMemory     ///< file system in memory (tmpfs, ramfs)
  };

  /// Starts to limit. local_ranks: processes of the job on this node. file: open and empty. root:
  /// see available_memory_bytes().
  void limit(std::uint32_t local_ranks, Kind kind, int file, const std::string& root = {});

  /// Checks whether the file may grow by more_bytes. Returns an error that states what is free and
  /// what stays free. held_bytes: present size of the file. file: open. The check reserves one
  /// chunk for each local process, because all may call check() at the same moment.
  /// Kind::kLateDisk: in addition, local_ranks files of the new size must fit into the space that
  /// was free when limit() was called.
  Status check(int file, const std::string& path, std::uint64_t held_bytes,
               std::uint64_t more_bytes, Use use) const;

  /// Returns by how many bytes each of the local processes' files may grow now; ~0: no limit.
  /// held_bytes: as in check(). 0 if the file system of `path` cannot be queried.
  std::uint64_t growth_bytes(const std::string& path, std::uint64_t held_bytes) const;

  /// Returns the share of memory at the time of limit(); ~0 if the file system is not in memory.
  std::uint64_t memory_bytes() const noexcept { return first_share_bytes_; }

 private:
  Status check_disk(int file, const std::string& path, std::uint64_t held_bytes,
                    std::uint64_t more_bytes, std::uint64_t part) const;
  std::uint64_t share_bytes(std::uint64_t held_bytes) const;
  std::uint64_t seen_free_bytes(std::uint64_t free_bytes, std::uint64_t held_bytes) const noexcept;

  std::uint32_t local_ranks_ = 0;  ///< 0: no limit
  Kind kind_ = Kind::kDisk;
  std::uint64_t first_free_bytes_ = 0;
  std::string root_;
  std::uint64_t first_share_bytes_ = ~std::uint64_t{0};
  mutable std::atomic<std::uint64_t> share_bytes_{~std::uint64_t{0}};  ///< as last read
  mutable std::atomic<std::uint64_t> read_again_at_{0};  ///< read again at this size of the file
};

}  // namespace megascope::trace
