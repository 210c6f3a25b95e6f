#pragma once

#include "core/base/status.h"
#include "core/trace/free_space.h"
#include "core/trace/layout.h"
#include "core/trace/sealed_chunk.h"
#include "core/trace/space.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace megascope::trace {

/// How the content of chunks reaches the file.
enum class Backing {
  kMapped,  ///< a chunk in use is a shared mapping of the file, so that its content survives a kill
            ///< of the process. Disk blocks are reserved before the chunk is used
  kWritten,  ///< a chunk in use is private memory, which is written to the file later. For network
             ///< and copy-on-write file systems
};

/// Returns the backing that suits the file system of an existing directory.
Backing backing_for(const std::string& directory_path);
/// Returns whether the directory is on a local disk (not in memory, not on a network).
bool is_local_disk(const std::string& directory_path);
/// Returns whether the directory is in memory (tmpfs, ramfs).
bool is_in_memory(const std::string& directory_path);

/// The growing trace file of one process. Holds no file descriptor, because the application may
/// close or renumber all of them. Any thread. Functions disable cancellation of the calling thread
/// while they run. Not for the hot path: acquire() takes tens of microseconds.
class ChunkStore {
 public:
  ChunkStore() = default;
  ~ChunkStore();
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  /// Creates the file, never over an existing one, with its header page. size_limit_bytes: bound of
  /// the whole file. local_ranks: number of processes of the job on this node; the disk space or
  /// memory that buffers may use is divided among them (space.h). 0: only size_limit_bytes applies.
  Status create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes,
                std::uint32_t local_ranks = 0);

  /// Returns the header page of the file: mapped, or private memory that is written with the
  /// chunks. Null before create().
  FileHeader* header() const noexcept { return header_; }

  /// Purpose of a chunk. Events stop at the size limit; definitions, which make events readable,
  /// may exceed it a little.
  using Use = Space::Use;

  /// Returns a zeroed chunk with `magic`, `chunk_bytes` and `used_bytes` set. Its size is `bytes`,
  /// or what is left below the size limit of create() if that is less but at least `min_bytes`.
  /// Both sizes are multiples of kChunkAlignment. Returns nullptr
  /// - with `status` ok: the size limit is reached, create() has not succeeded, or
  ///   is_out_of_space() is true and the chunk is for events;
  /// - with an error in `status`: the file must not grow by so much, because the disk or the memory
  ///   is nearly full (Space), or the operating system reports an error.
  ChunkHeader* acquire(std::size_t bytes, std::size_t min_bytes, Status& status,
                       Use use = Use::kEvents);
  /// As acquire() for a chunk of events, in space that free() or trim() gave back. The chunk's kind
  /// is kFree, and its content is undefined. Returns nullptr with `status` ok if no piece of that
  /// space is large enough.
  ChunkHeader* acquire_free(std::size_t bytes, Status& status);
  /// Ends writing to a chunk: unmaps it, or writes it to the file.
  Status release(ChunkHeader* chunk);

  /// Returns whether the file could not grow for a chunk of events: the disk or the memory was too
  /// full (Space), a quota or the file-size limit was reached. It then grows no more for events.
  bool is_out_of_space() const noexcept { return is_out_of_space_.load(std::memory_order_relaxed); }
  /// Returns the bound of the whole file: size_limit_bytes of create(), or the process's share of
  /// memory (Space::memory_bytes()) if that is less.
  std::uint64_t bound_bytes() const noexcept {
    return std::min(size_limit_bytes_, space_.memory_bytes());
  }

  /// Position of a chunk in the file. 0: nowhere.
  using Offset = std::uint64_t;
  /// Writes a full chunk to a new position, so that its memory can be reused: reusing memory and
  /// writing a copy costs a third of touching fresh pages of a mapped file. A reader that finds a
  /// chunk and a complete or partial copy uses the one with more records, so a kill at any moment
  /// loses nothing. Returns the position; 0 if nothing was written, because the size limit is
  /// reached or because of the error in `status`.
  Offset append(const SealedChunk& chunk, Status& status);
  /// As append(), into space that free() gave back. Returns 0 with `status` ok if no piece of it is
  /// large enough. If the file system has no space for it there, the piece is not used again; after
  /// the third in turn returns the error.
  Offset write_into_free(const SealedChunk& chunk, Status& status);
  /// Drops a released chunk, or one that append() or write_into_free() wrote, and gives its space
  /// back. offset, bytes: position and size in the file. After an error it is still in the file.
  Status free(Offset offset, std::size_t bytes);
  Offset offset_of(const ChunkHeader* chunk) const;

  /// Returns the unused space of an open chunk to the file system, once: by shortening the file if
  /// the chunk is the last, else by freeing its blocks; the space is then free as by free(). The
  /// chunk must not grow afterwards; its chunk_bytes are those that it keeps.
  void trim(ChunkHeader* chunk);

  /// Writes the header page and everything that is still in private memory. The store stays usable.
  Status flush();
  const std::string& path() const noexcept { return path_; }
  Backing backing() const noexcept { return backing_; }
  /// Returns the size of the file without trimmed space.
  std::uint64_t used_bytes() const;
  /// Returns whether an error says that the process has no file descriptor left.
  bool is_lack_of_descriptors(const Status& status) const;

  /// What open chunks of events have and will take.
  struct OpenUse {
    std::uint64_t used_bytes = 0;  ///< their records
    std::uint64_t soon_bytes = 0;  ///< space of the larger chunks that will follow those that are
                                   ///< smaller than `chunk_bytes` and half full
  };
  OpenUse open_use(std::size_t chunk_bytes) const;
  /// Returns by how many bytes the disk or the memory lets the file grow (Space); ~0: no limit.
  std::uint64_t growth_bytes() const;

 private:
  struct Open {
    ChunkHeader* chunk;
    std::uint64_t offset;
    std::size_t mapped_bytes;
    Use use;
  };
  int open_file(Status& status) const;
  ChunkHeader* map(int file, std::uint64_t offset, std::size_t bytes, Use use, Status& status);
  Status extend(int file, std::uint64_t offset, std::size_t bytes, Use use) const;
  Status failed(const char* what, int error_number, Use use = Use::kEvents) const;
  Status is_beyond_limit(std::uint64_t end, Use use = Use::kEvents) const;
  void take_free(Offset offset, std::uint64_t bytes);
  Status ask_for_space(int file, std::uint64_t bytes, Use use) const;
  Status write_open(const Open& open) const;
  Status begin_copy(int file, const SealedChunk& chunk, Offset offset) const;
  Status finish_copy(int file, const SealedChunk& chunk, Offset offset) const;
  Status write_free(int file, Offset offset, std::uint64_t bytes) const;
  Status write_definitions(int file) const;

  std::string path_;
  Backing backing_ = Backing::kMapped;
  std::uint64_t size_limit_bytes_ = 0;
  Space space_;
  mutable std::atomic<bool> is_out_of_space_{false};
  std::uint64_t next_offset_ = 0;
  std::uint64_t trimmed_bytes_ = 0;
  FreeSpace free_;
  int refusals_ = 0;  ///< of write_into_free(), in turn
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  FileHeader* header_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace megascope::trace
