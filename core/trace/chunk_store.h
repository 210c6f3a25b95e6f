#pragma once

#include "core/base/status.h"
#include "core/trace/layout.h"
#include "core/trace/room.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace megascope::trace {

/// How chunks reach the disk.
enum class Backing {
  kMapped,  ///< the open chunk is a shared mapping: survives a kill; its blocks are reserved before
            ///< they are touched
  kWritten,  ///< the open chunk is private memory: for network and copy-on-write file systems
};

/// Which way fits the file system that holds an existing folder.
Backing backing_for(const std::string& folder);
/// Is the folder on a local disk (not memory, not network)?
bool is_local_disk(const std::string& folder);
/// Is the folder in memory (tmpfs, ramfs)?
bool is_in_memory(const std::string& folder);

/// The growing trace file of one process. Keeps no file descriptor: the application may close or
/// renumber all of them. Any thread, which is not cancelled in here. Nothing here is for the hot
/// path: an acquired chunk costs tens of microseconds.
class ChunkStore {
 public:
  ChunkStore() = default;
  ~ChunkStore();
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  /// Makes the file (never over an existing one) and its header page. size_limit_bytes bounds the
  /// whole file. local_ranks: processes of the job on this node, which leave room for the
  /// application together (Room); 0: all room may be taken.
  Status create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes,
                std::uint32_t local_ranks = 0);

  /// The file's header page: mapped, or private memory that is written with the chunks. Null before
  /// create().
  FileHeader* header() const noexcept { return header_; }

  /// Events end at the size limit; definitions, which make them readable, go on a little beyond it.
  using Use = Room::Use;

  /// A zeroed chunk with `magic`, `chunk_bytes` and `used_bytes` set: of `bytes`, or of what the
  /// limit leaves if that is `least_bytes` or more (both multiples of kChunkAlignment). nullptr
  /// with the reason in `status`; the limit of create() being reached is not an error (status stays
  /// ok); what Room refuses is one.
  ChunkHeader* acquire(std::size_t bytes, std::size_t least_bytes, Status& status,
                       Use use = Use::kEvents);
  /// Ends writing to a chunk: it is unmapped or written.
  Status release(ChunkHeader* chunk);

  /// Has Room refused to let the file grow? It is not asked again.
  bool is_out_of_room() const noexcept { return is_out_of_room_.load(std::memory_order_relaxed); }
  /// Of the whole file: the limit of create(), or the share of memory where that is less.
  std::uint64_t bound_bytes() const noexcept {
    return std::min(size_limit_bytes_, room_.memory_bytes());
  }

  /// Where a copy of a chunk lies in the file, for overwrite(). 0: nowhere, the limit is reached,
  /// or see `status`.
  using Offset = std::uint64_t;
  /// Writes what a chunk holds to a new place, so that the chunk can be begun anew: writing to
  /// memory that is in use already and copying it costs a third of touching fresh pages of a mapped
  /// file. A reader that finds a chunk and its copy, or half a copy, takes the one with more in it:
  /// a kill at any moment loses nothing.
  Offset append_copy(const ChunkHeader* chunk, Status& status);
  /// The same over an older copy of the same size, which is lost.
  Status overwrite(const ChunkHeader* chunk, Offset offset);
  /// Makes a released chunk or a copy empty.
  Status clear(const ChunkHeader* like, Offset offset, std::size_t bytes);
  Offset offset_of(const ChunkHeader* chunk) const;

  /// Gives what is not used of an open chunk back, once: its place, where it is the last in the
  /// file, else its blocks. Nothing may be added to the chunk any more.
  void trim(ChunkHeader* chunk);

  /// Writes the header page and what is still in private memory. The store stays usable.
  Status flush();
  const std::string& path() const noexcept { return path_; }
  Backing backing() const noexcept { return backing_; }
  /// Of the file, without what was trimmed.
  std::uint64_t used_bytes() const;

 private:
  struct Open {
    ChunkHeader* chunk;
    std::uint64_t offset;
    std::size_t mapped_bytes;
  };
  int open_file(Status& status) const;
  ChunkHeader* map(int file, std::uint64_t offset, std::size_t bytes, Status& status);
  Status extend(int file, std::uint64_t offset, std::size_t bytes) const;
  Status ask_for_room(int file, std::uint64_t bytes, Use use) const;
  Status write_out(const void* from, std::size_t bytes, std::uint64_t offset) const;
  Status write_copy(int file, const ChunkHeader& header, const ChunkHeader* chunk,
                    Offset offset) const;
  Status write_definitions(int file) const;

  std::string path_;
  Backing backing_ = Backing::kMapped;
  std::uint64_t size_limit_bytes_ = 0;
  Room room_;
  mutable std::atomic<bool> is_out_of_room_{false};
  std::uint64_t next_offset_ = 0;
  std::uint64_t trimmed_bytes_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  FileHeader* header_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace megascope::trace
