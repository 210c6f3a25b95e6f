#include "core/trace/chunk_store.h"

#include "core/base/no_cancel.h"
#include "core/base/safe_file.h"
#include "core/base/wiped_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace megascope::trace {
namespace {

constexpr std::uint64_t kDefinitionReserveBytes = std::uint64_t{64} << 20;

bool exceeds_file_size_limit(std::uint64_t end) {
  rlimit limit{};
  // Beyond the limit the kernel would send SIGXFSZ to the application.
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

Status file_size_error(const std::string& path) {
  return Status::error("cannot extend " + path +
                       ": the process's file-size limit (ulimit -f) is reached");
}

/// Writes all bytes at `offset`. Returns false with errno set on failure.
bool write_all(int file, const void* from, std::size_t bytes, std::uint64_t offset) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = pwrite(file, at, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    at += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

/// fallocate(2), repeated when a signal interrupts it.
bool allocate(int file, int mode, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do {
    rc = fallocate(file, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (rc != 0 && errno == EINTR);
  return rc == 0;
}

}  // namespace

ChunkStore::~ChunkStore() {
  for (const Open& open : open_) munmap(open.chunk, open.mapped_bytes);
  if (header_ != nullptr) munmap(header_, kFileHeaderBytes);
}

Status ChunkStore::create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes,
                          std::uint32_t local_ranks) {
  const NoCancel no_cancel;
  files::Descriptor file;
  Status status = files::create_new(path, 0600, file);
  if (!status.is_ok()) return status;
  struct stat info {};
  fstat(file.number(), &info);
  path_ = path;
  backing_ = backing;
  size_limit_bytes_ = size_limit_bytes;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (local_ranks != 0) {
    const bool is_memory = is_in_memory(path.substr(0, path.rfind('/')));
    const Space::Kind kind = backing == Backing::kWritten ? Space::Kind::kLateDisk
                                                          : Space::Kind::kDisk;
    space_.limit(local_ranks, is_memory ? Space::Kind::kMemory : kind, file.number());
  }
  status = ask_for_space(file.number(), kFileHeaderBytes, Use::kEvents);
  if (status.is_ok())
    header_ = reinterpret_cast<FileHeader*>(map(file.number(), 0, kFileHeaderBytes, status));
  if (header_ == nullptr) {
    unlink(path.c_str());
    return status;
  }
  header_->is_mapped = backing == Backing::kMapped ? 1 : 0;
  next_offset_ = kFileHeaderBytes;
  return Status::ok();
}

int ChunkStore::open_file(Status& status) const {
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  struct stat info {};
  if (file < 0) {
    status = Status::from_errno("cannot open " + path_, errno);
  } else if (fstat(file, &info) != 0 || info.st_dev != device_ || info.st_ino != inode_) {
    status = Status::error(path_ + " has been replaced by another file");
    close(file);
    return -1;
  }
  return file;
}

Status ChunkStore::extend(int file, std::uint64_t offset, std::size_t bytes) const {
  if (exceeds_file_size_limit(offset + bytes)) return file_size_error(path_);
  // posix_fallocate() would fall back to writing every block; a file system without fallocate() is
  // not worth mapping.
  if (!allocate(file, 0, offset, bytes)) {
    return Status::from_errno("cannot reserve space in " + path_, errno);
  }
  return Status::ok();
}

/// After one refusal, events are refused for good: a file that continued when space became free
/// would have a gap.
Status ChunkStore::ask_for_space(int file, std::uint64_t bytes, Use use) const {
  Status status = space_.check(file, path_, next_offset_ - trimmed_bytes_, bytes, use);
  if (!status.is_ok() && use == Use::kEvents)
    is_out_of_space_.store(true, std::memory_order_relaxed);
  return status;
}

ChunkHeader* ChunkStore::map(int file, std::uint64_t offset, std::size_t bytes, Status& status) {
  if (backing_ == Backing::kWritten) {
    void* memory = unforked_memory(bytes);
    if (memory == nullptr) status = Status::from_errno("no memory for trace buffers", errno);
    return static_cast<ChunkHeader*>(memory);
  }
  status = extend(file, offset, bytes);
  if (!status.is_ok()) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      static_cast<off_t>(offset));
  if (memory == MAP_FAILED) {
    status = Status::from_errno("cannot map " + path_, errno);
    return nullptr;
  }
  madvise(memory, bytes, MADV_DONTFORK);
  // Populate now: a full tmpfs or a broken disk then gives an error here instead of SIGBUS at the
  // first access. EINVAL: a kernel before 5.14, where the reserved blocks have to do.
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    status = Status::from_errno("cannot touch the mapping of " + path_, errno);
    munmap(memory, bytes);
    return nullptr;
  }
  return static_cast<ChunkHeader*>(memory);
}

ChunkHeader* ChunkStore::acquire(std::size_t bytes, std::size_t min_bytes, Status& status,
                                 Use use) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  status = Status::ok();
  const std::uint64_t limit = size_limit_bytes_ +
                              (use == Use::kDefinitions ? kDefinitionReserveBytes : 0);
  if (header_ == nullptr || next_offset_ + min_bytes > limit ||
      (use == Use::kEvents && is_out_of_space()))
    return nullptr;
  bytes = std::min<std::uint64_t>(bytes,
                                  (limit - next_offset_) / kChunkAlignment * kChunkAlignment);
  open_.reserve(open_.size() + 1);
  const files::Descriptor file(open_file(status));
  if (!file.is_open()) return nullptr;
  status = ask_for_space(file.number(), bytes, use);
  if (status.is_ok() && use == Use::kEvents) status = write_definitions(file.number());
  ChunkHeader* const chunk = status.is_ok() ? map(file.number(), next_offset_, bytes, status)
                                            : nullptr;
  if (chunk == nullptr) return nullptr;
  open_.push_back({chunk, next_offset_, bytes});
  next_offset_ += bytes;
  chunk->chunk_bytes = static_cast<std::uint32_t>(bytes);
  chunk->used_bytes.store(sizeof(ChunkHeader), std::memory_order_relaxed);
  chunk->magic = kChunkMagic;
  return chunk;
}

ChunkStore::Offset ChunkStore::offset_of(const ChunkHeader* chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.chunk == chunk; });
  return found == open_.end() ? 0 : found->offset;
}

Status ChunkStore::release(ChunkHeader* chunk) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.chunk == chunk; });
  if (found == open_.end()) return Status::ok();
  const std::size_t mapped_bytes = found->mapped_bytes;
  Status status;
  if (backing_ == Backing::kWritten) status = write_out(chunk, chunk->chunk_bytes, found->offset);
  open_.erase(found);
  munmap(chunk, mapped_bytes);
  return status;
}

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
    file = files::Descriptor(open_file(status));
    if (file.is_open()) status = ask_for_space(file.number(), bytes, Use::kEvents);
    if (status.is_ok()) status = write_definitions(file.number());
    if (!status.is_ok()) return 0;
    offset = next_offset_;
    next_offset_ += bytes;
  }
  status = begin_copy(file.number(), chunk, offset);
  if (status.is_ok()) status = finish_copy(file.number(), chunk, offset);
  return status.is_ok() ? offset : 0;
}

ChunkStore::Offset ChunkStore::write_into_free(const SealedChunk& chunk, Status& status) {
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
    if (!status.is_ok()) return 0;
    // Headers first: a reader walks from header to header, and space that is taken may have a chunk
    // of another thread behind it.
    status = write_free(file.number(), offset + bytes, free_.bytes_at(offset) - bytes);
    if (status.is_ok()) status = begin_copy(file.number(), chunk, offset);
    if (!status.is_ok()) return 0;
    free_.take(offset, bytes);
  }
  status = finish_copy(file.number(), chunk, offset);
  return status.is_ok() ? offset : 0;
}

Status ChunkStore::free(Offset offset, std::size_t bytes) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  Status status;
  const files::Descriptor file(open_file(status));
  if (status.is_ok()) status = write_free(file.number(), offset, bytes);
  if (status.is_ok()) free_.add(offset, bytes);
  return status;
}

/// Marks space as free, so that a reader skips it.
Status ChunkStore::write_free(int file, Offset offset, std::uint64_t bytes) const {
  while (bytes > 0) {
    if (exceeds_file_size_limit(offset + sizeof(ChunkHeader))) return file_size_error(path_);
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, kMaxChunkBytes);
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.chunk_bytes = static_cast<std::uint32_t>(piece);
    header.used_bytes.store(sizeof header, std::memory_order_relaxed);
    header.kind = ChunkKind::kFree;
    if (!write_all(file, &header, sizeof header, offset))
      return Status::from_errno("cannot write " + path_, errno);
    offset += piece;
    bytes -= piece;
  }
  return Status::ok();
}

Status ChunkStore::write_out(const void* from, std::size_t bytes, std::uint64_t offset) const {
  if (exceeds_file_size_limit(offset + bytes)) return file_size_error(path_);
  Status status;
  const int file = open_file(status);
  if (file < 0) return status;
  if (!write_all(file, from, bytes, offset))
    status = Status::from_errno("cannot write " + path_, errno);
  close(file);
  return status;
}

/// Writes the first of three parts of a chunk, an empty chunk, so that a reader can skip it while
/// it is incomplete.
Status ChunkStore::begin_copy(int file, const SealedChunk& chunk, Offset offset) const {
  if (exceeds_file_size_limit(offset + chunk.header.chunk_bytes)) return file_size_error(path_);
  ChunkHeader empty{};
  std::memcpy(static_cast<void*>(&empty), &chunk.header, sizeof empty);
  empty.used_bytes.store(sizeof empty, std::memory_order_relaxed);
  empty.packed_words = 0;
  return write_all(file, &empty, sizeof empty, offset)
             ? Status::ok()
             : Status::from_errno("cannot write " + path_, errno);
}

/// Writes the content, and then the final header.
Status ChunkStore::finish_copy(int file, const SealedChunk& chunk, Offset offset) const {
  if (exceeds_file_size_limit(offset + chunk.header.chunk_bytes)) return file_size_error(path_);
  const bool is_written = write_all(file, chunk.content, chunk.content_bytes(),
                                    offset + sizeof chunk.header) &&
                          write_all(file, &chunk.header, sizeof chunk.header, offset);
  return is_written ? Status::ok() : Status::from_errno("cannot write " + path_, errno);
}

/// Writes the private memory that makes events readable: the file header and open chunks of
/// definitions. Call with the lock held. A kill leaves the older or the newer state of each chunk.
Status ChunkStore::write_definitions(int file) const {
  if (backing_ != Backing::kWritten) return Status::ok();
  if (exceeds_file_size_limit(next_offset_)) return file_size_error(path_);
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
  return is_written ? Status::ok() : Status::from_errno("cannot write " + path_, errno);
}

void ChunkStore::trim(ChunkHeader* chunk) {
  const NoCancel no_cancel;
  const std::uint64_t offset = offset_of(chunk);
  if (backing_ != Backing::kMapped || offset == 0) return;
  const std::uint64_t used = chunk->used_bytes.load(std::memory_order_relaxed);
  const std::uint64_t keep = chunk_space(used);
  if (keep >= chunk->chunk_bytes) return;
  Status status;
  const int file = open_file(status);
  if (file < 0) return;
  const std::uint64_t rest = chunk->chunk_bytes - keep;
  const bool is_done = allocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset + keep,
                                rest);
  close(file);
  const std::lock_guard lock(mutex_);
  if (is_done && offset + chunk->chunk_bytes == next_offset_) {
    next_offset_ -= rest;
    chunk->chunk_bytes = static_cast<std::uint32_t>(keep);
  } else if (is_done) {
    trimmed_bytes_ += rest;
  }
}

std::uint64_t ChunkStore::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return next_offset_ - trimmed_bytes_;
}

Status ChunkStore::flush() {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  if (backing_ == Backing::kMapped || header_ == nullptr) return Status::ok();
  Status status = write_out(header_, kFileHeaderBytes, 0);
  for (const Open& open : open_)
    status.update(write_out(open.chunk, open.chunk->chunk_bytes, open.offset));
  return status;
}

}  // namespace megascope::trace
