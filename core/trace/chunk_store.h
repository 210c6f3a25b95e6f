#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/trace/layout.h"

namespace megascope::trace {

/// How chunks reach the disk.
enum class Backing {
  kMapped,   ///< shared mapping of a local file: survives a kill; blocks are reserved before they are touched
  kWritten,  ///< private memory, written when full and at the end: for network and copy-on-write file systems
};

/// Which way fits the file system that holds an existing folder.
Backing backing_for(const std::string& folder);
/// Is the folder on a local disk (not memory, not network)?
bool is_local_disk(const std::string& folder);

/// The growing trace file of one process. Keeps no file descriptor: the application may close or renumber all of them.
/// Any thread. Nothing here is for the hot path: an acquired chunk costs tens of microseconds.
class ChunkStore {
 public:
  ChunkStore() = default;
  ~ChunkStore();
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  /// Makes the file (never over an existing one) and its header page. size_limit_bytes bounds the whole file.
  Status create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes);

  /// The file's header page: mapped, or private memory that is written with the chunks. Null before create().
  FileHeader* header() const noexcept { return header_; }

  /// Events end at the size limit; definitions, which make them readable, go on a little beyond it.
  enum class Use { kEvents, kDefinitions };

  /// A zeroed chunk with `magic`, `chunk_bytes` and `used_bytes` set, or nullptr with the reason in `status`; the limit
  /// of create() being reached is not an error (status stays ok).
  ChunkHeader* acquire(std::size_t bytes, Status& status, Use use = Use::kEvents);
  /// Ends writing to a chunk: it is unmapped or written. May be mapped again with `reopen`.
  void release(ChunkHeader* chunk);
  /// A released chunk as it was left, to be read and then written anew (policy flight); empty when it is damaged.
  /// offset: of offset_of() when it was acquired.
  ChunkHeader* reopen(std::uint64_t offset, std::size_t bytes);
  std::uint64_t offset_of(const ChunkHeader* chunk) const;

  /// Gives the blocks behind what is used of an open chunk back to the file system. They can still be written.
  void trim(const ChunkHeader* chunk);

  /// Writes the header page and what is still in private memory. The store stays usable.
  Status flush();
  const std::string& path() const noexcept { return path_; }
  std::uint64_t size_bytes() const noexcept { return next_offset_; }

 private:
  struct Open {
    ChunkHeader* chunk;
    std::uint64_t offset;
  };
  int open_file(Status& status) const;
  ChunkHeader* map(int file, std::uint64_t offset, std::size_t bytes, Status& status);
  Status extend(int file, std::uint64_t offset, std::size_t bytes) const;
  bool read_back(void* to, std::size_t bytes, std::uint64_t offset) const;
  Status write_out(const void* from, std::size_t bytes, std::uint64_t offset) const;

  std::string path_;
  Backing backing_ = Backing::kMapped;
  std::uint64_t size_limit_bytes_ = 0;
  std::uint64_t next_offset_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  FileHeader* header_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace megascope::trace
