#include "core/base/no_cancel.h"
#include "core/base/safe_file.h"
#include "core/trace/chunk_store.h"
#include "core/trace/file_writes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

/// Chunks that are written to their place, and the space of those that were dropped.
namespace megascope::trace {

ChunkStore::Offset ChunkStore::append(const SealedChunk& chunk, Status& status) {
  status = Status::ok();
  const NoCancel no_cancel;
  const std::uint32_t bytes = chunk.header.chunk_bytes;
  files::Descriptor file;
  Offset offset = 0;
  {
    const std::lock_guard lock(mutex_);
    if (header_ == nullptr || next_offset_ + bytes > size_limit_bytes_ || is_out_of_space())
      return 0;
    status = is_beyond_limit(next_offset_ + bytes);
    if (status.is_ok()) file = files::Descriptor(open_file(status));
    if (status.is_ok()) status = ask_for_space(file.number(), bytes, Use::kEvents);
    if (status.is_ok()) status = write_definitions(file.number());
    if (!status.is_ok()) return 0;
    offset = next_offset_;
    next_offset_ += bytes;
  }
  status = begin_copy(file.number(), chunk, offset);
  if (status.is_ok()) status = finish_copy(file.number(), chunk, offset);
  if (status.is_ok()) return offset;
  const std::lock_guard lock(mutex_);
  (void)write_free(file.number(), offset, bytes);  // if its header could be written
  if (next_offset_ == offset + bytes) next_offset_ = offset;
  return 0;
}

ChunkStore::Offset ChunkStore::write_into_free(const SealedChunk& chunk, Status& status) {
  constexpr int kMaxRefusals = 3;
  status = Status::ok();
  const NoCancel no_cancel;
  const std::uint32_t bytes = chunk.header.chunk_bytes;
  files::Descriptor file;
  Offset offset = 0;
  {
    const std::lock_guard lock(mutex_);
    offset = free_.find(bytes);
    if (offset == FreeSpace::kNone) return 0;
    file = files::Descriptor(open_file(status));
    if (status.is_ok()) status = write_definitions(file.number());
    // Headers first: a reader walks from header to header, and space that is taken may have a chunk
    // of another thread behind it.
    if (status.is_ok())
      status = write_free(file.number(), offset + bytes, free_.bytes_at(offset) - bytes);
    if (status.is_ok()) status = begin_copy(file.number(), chunk, offset);
    if (file.is_open()) take_free(offset, bytes);  // also after an error: not tried again
  }
  if (status.is_ok()) status = finish_copy(file.number(), chunk, offset);
  if (!file.is_open()) return 0;
  const std::lock_guard lock(mutex_);
  refusals_ = status.is_ok() ? 0 : refusals_ + 1;
  if (status.is_ok()) return offset;
  (void)write_free(file.number(), offset, bytes);
  if (is_out_of_space() && refusals_ < kMaxRefusals) status = Status::ok();
  return 0;
}

Status ChunkStore::free(Offset offset, std::size_t bytes) {
  const NoCancel no_cancel;
  FreeSpace::Piece piece = FreeSpace::piece(offset, bytes);
  const std::lock_guard lock(mutex_);
  Status status;
  const files::Descriptor file(open_file(status));
  if (status.is_ok()) status = write_definitions(file.number());  // and how much was dropped
  if (status.is_ok()) status = write_free(file.number(), offset, bytes);
  if (status.is_ok()) free_.add(std::move(piece));
  return status;
}

/// Takes space that was free. Some of it may have been trimmed; how much is not known.
void ChunkStore::take_free(Offset offset, std::uint64_t bytes) {
  free_.take(offset, bytes);
  trimmed_bytes_ -= std::min(trimmed_bytes_, bytes);
}

/// Marks space as free, so that a reader skips it.
Status ChunkStore::write_free(int file, Offset offset, std::uint64_t bytes) const {
  while (bytes > 0) {
    if (Status status = is_beyond_limit(offset + sizeof(ChunkHeader)); !status.is_ok())
      return status;
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, kMaxChunkBytes);
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.chunk_bytes = static_cast<std::uint32_t>(piece);
    header.used_bytes.store(sizeof header, std::memory_order_relaxed);
    header.kind = ChunkKind::kFree;
    if (!write_all(file, &header, sizeof header, offset)) return failed("cannot write", errno);
    offset += piece;
    bytes -= piece;
  }
  return Status::ok();
}

/// Writes a chunk that is in private memory to its place, which holds nothing or another state of
/// it. At each moment a reader finds an older state, no records, or this one.
Status ChunkStore::write_open(const Open& open) const {
  Status status = is_beyond_limit(open.offset + open.mapped_bytes, open.use);
  if (!status.is_ok()) return status;
  const files::Descriptor file(open_file(status));
  if (!file.is_open()) return status;
  ChunkHeader header{};
  std::memcpy(static_cast<void*>(&header), open.chunk, sizeof header);
  const std::uint64_t used = open.chunk->used_bytes.load(std::memory_order_acquire);
  header.used_bytes.store(used, std::memory_order_relaxed);
  if (header.kind != ChunkKind::kDefinitions)  // those only grow
    status = write_free(file.number(), open.offset, header.chunk_bytes);
  const bool is_written = status.is_ok() &&
                          write_all(file.number(), open.chunk + 1, used - sizeof header,
                                    open.offset + sizeof header) &&
                          write_all(file.number(), &header, sizeof header, open.offset);
  if (status.is_ok() && !is_written) status = failed("cannot write", errno, open.use);
  return status;
}

/// Writes the first of three parts of a chunk, an empty chunk, so that a reader can skip it while
/// it is incomplete.
Status ChunkStore::begin_copy(int file, const SealedChunk& chunk, Offset offset) const {
  if (Status status = is_beyond_limit(offset + chunk.header.chunk_bytes); !status.is_ok())
    return status;
  ChunkHeader empty{};
  std::memcpy(static_cast<void*>(&empty), &chunk.header, sizeof empty);
  empty.used_bytes.store(sizeof empty, std::memory_order_relaxed);
  empty.packed_words = 0;
  return write_all(file, &empty, sizeof empty, offset) ? Status::ok()
                                                       : failed("cannot write", errno);
}

/// Writes the content, and then the final header.
Status ChunkStore::finish_copy(int file, const SealedChunk& chunk, Offset offset) const {
  if (Status status = is_beyond_limit(offset + chunk.header.chunk_bytes); !status.is_ok())
    return status;
  const bool is_written = write_all(file, chunk.content, chunk.content_bytes(),
                                    offset + sizeof chunk.header) &&
                          write_all(file, &chunk.header, sizeof chunk.header, offset);
  return is_written ? Status::ok() : failed("cannot write", errno);
}

/// Writes the private memory that makes events readable: the file header and open chunks of
/// definitions. Call with the lock held. A kill leaves the older or the newer state of each chunk.
Status ChunkStore::write_definitions(int file) const {
  if (backing_ != Backing::kWritten) return Status::ok();
  if (Status status = is_beyond_limit(next_offset_); !status.is_ok()) return status;
  bool is_written = write_all(file, header_, kFileHeaderBytes, 0);
  for (const Open& open : open_) {
    ChunkHeader header{};
    std::memcpy(static_cast<void*>(&header), open.chunk, sizeof header);
    const std::uint64_t used = open.chunk->used_bytes.load(std::memory_order_acquire);
    header.used_bytes.store(used, std::memory_order_relaxed);
    if (header.kind != ChunkKind::kDefinitions) continue;
    is_written = is_written &&
                 write_all(file, open.chunk + 1, used - sizeof header,
                           open.offset + sizeof header) &&
                 write_all(file, &header, sizeof header, open.offset);
  }
  return is_written ? Status::ok() : failed("cannot write", errno);
}

}  // namespace megascope::trace
