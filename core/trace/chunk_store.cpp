#include "core/trace/chunk_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/no_cancel.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace megascope::trace {
namespace {

constexpr std::uint64_t kDefinitionReserveBytes = std::uint64_t{64} << 20;

bool exceeds_file_size_limit(std::uint64_t end) {
  rlimit limit{};
  // Beyond the limit the kernel would send SIGXFSZ to the application.
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

Status file_size_error(const std::string& path) {
  return Status::error("cannot extend " + path + ": the process's file-size limit (ulimit -f) is reached");
}

/// False: errno says why.
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

void* private_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

}  // namespace

ChunkStore::~ChunkStore() {
  for (const Open& open : open_) munmap(open.chunk, open.mapped_bytes);
  if (header_ != nullptr) munmap(header_, kFileHeaderBytes);
}

Status ChunkStore::create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes) {
  const NoCancel no_cancel;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return Status::from_errno("cannot make " + path, errno);
  struct stat info {};
  fstat(file, &info);
  path_ = path;
  backing_ = backing;
  size_limit_bytes_ = size_limit_bytes;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  Status status;
  header_ = reinterpret_cast<FileHeader*>(map(file, 0, kFileHeaderBytes, status));
  close(file);
  if (header_ == nullptr) {
    unlink(path.c_str());
    return status;
  }
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
  // posix_fallocate would fall back to writing every block; a file system without fallocate is not worth mapping.
  if (fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    return Status::from_errno("cannot reserve space in " + path_, errno);
  }
  return Status::ok();
}

ChunkHeader* ChunkStore::map(int file, std::uint64_t offset, std::size_t bytes, Status& status) {
  if (backing_ == Backing::kWritten) {
    void* memory = private_memory(bytes);
    if (memory == nullptr) status = Status::from_errno("no memory for trace buffers", errno);
    return static_cast<ChunkHeader*>(memory);
  }
  status = extend(file, offset, bytes);
  if (!status.is_ok()) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) {
    status = Status::from_errno("cannot map " + path_, errno);
    return nullptr;
  }
  madvise(memory, bytes, MADV_DONTFORK);
  // An error here (full tmpfs, broken disk) instead of SIGBUS at the first touch. EINVAL: a kernel before 5.14, where
  // the reserved blocks are what we have.
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    status = Status::from_errno("cannot touch the mapping of " + path_, errno);
    munmap(memory, bytes);
    return nullptr;
  }
  return static_cast<ChunkHeader*>(memory);
}

ChunkHeader* ChunkStore::acquire(std::size_t bytes, std::size_t least_bytes, Status& status, Use use) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  status = Status::ok();
  const std::uint64_t limit = size_limit_bytes_ + (use == Use::kDefinitions ? kDefinitionReserveBytes : 0);
  if (header_ == nullptr || next_offset_ + least_bytes > limit) return nullptr;
  bytes = std::min<std::uint64_t>(bytes, (limit - next_offset_) / kChunkAlignment * kChunkAlignment);
  int file = -1;
  if (backing_ == Backing::kMapped) {
    file = open_file(status);
    if (file < 0) return nullptr;
  }
  ChunkHeader* chunk = map(file, next_offset_, bytes, status);
  if (file >= 0) close(file);
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
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.chunk == chunk; });
  return found == open_.end() ? 0 : found->offset;
}

Status ChunkStore::release(ChunkHeader* chunk) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.chunk == chunk; });
  if (found == open_.end()) return Status::ok();
  const std::size_t mapped_bytes = found->mapped_bytes;
  Status status;
  if (backing_ == Backing::kWritten) status = write_out(chunk, chunk->chunk_bytes, found->offset);
  open_.erase(found);
  munmap(chunk, mapped_bytes);
  return status;
}

ChunkStore::Offset ChunkStore::append_copy(const ChunkHeader* chunk, Status& status) {
  status = Status::ok();
  Offset offset = 0;
  {
    const std::lock_guard lock(mutex_);
    if (header_ == nullptr || next_offset_ + chunk->chunk_bytes > size_limit_bytes_) return 0;
    offset = next_offset_;
    next_offset_ += chunk->chunk_bytes;
  }
  status = overwrite(chunk, offset);
  return status.is_ok() ? offset : 0;
}

Status ChunkStore::overwrite(const ChunkHeader* chunk, Offset offset) {
  const NoCancel no_cancel;
  ChunkHeader header{};
  std::memcpy(static_cast<void*>(&header), chunk, sizeof header);
  return write_copy(header, chunk, offset);
}

Status ChunkStore::clear(const ChunkHeader* like, Offset offset, std::size_t bytes) {
  const NoCancel no_cancel;
  ChunkHeader header{};
  std::memcpy(static_cast<void*>(&header), like, sizeof header);
  header.chunk_bytes = static_cast<std::uint32_t>(bytes);
  header.used_bytes.store(sizeof header, std::memory_order_relaxed);
  return write_copy(header, like, offset);
}

Status ChunkStore::write_out(const void* from, std::size_t bytes, std::uint64_t offset) const {
  if (exceeds_file_size_limit(offset + bytes)) return file_size_error(path_);
  Status status;
  const int file = open_file(status);
  if (file < 0) return status;
  if (!write_all(file, from, bytes, offset)) status = Status::from_errno("cannot write " + path_, errno);
  close(file);
  return status;
}

/// First an empty chunk, so that a reader can step over what is not all there, then what it holds, then the truth.
Status ChunkStore::write_copy(const ChunkHeader& header, const ChunkHeader* chunk, Offset offset) const {
  if (exceeds_file_size_limit(offset + header.chunk_bytes)) return file_size_error(path_);
  Status status;
  const int file = open_file(status);
  if (file < 0) return status;
  const std::uint64_t used = header.used_bytes.load(std::memory_order_relaxed);
  ChunkHeader empty{};
  std::memcpy(static_cast<void*>(&empty), &header, sizeof empty);
  empty.used_bytes.store(sizeof empty, std::memory_order_relaxed);
  bool is_written = write_all(file, &empty, sizeof empty, offset);
  if (used > sizeof header) {
    is_written = is_written && write_all(file, chunk + 1, used - sizeof header, offset + sizeof header) &&
                 write_all(file, &header, sizeof header, offset);
  }
  if (!is_written) status = Status::from_errno("cannot write " + path_, errno);
  close(file);
  return status;
}

void ChunkStore::trim(ChunkHeader* chunk) {
  const NoCancel no_cancel;
  const std::uint64_t offset = offset_of(chunk);
  if (backing_ != Backing::kMapped || offset == 0) return;
  const std::uint64_t used = chunk->used_bytes.load(std::memory_order_relaxed);
  const std::uint64_t keep = (used + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  if (keep >= chunk->chunk_bytes) return;
  Status status;
  const int file = open_file(status);
  if (file < 0) return;
  const std::uint64_t rest = chunk->chunk_bytes - keep;
  const bool is_done = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset + keep),
                                 static_cast<off_t>(rest)) == 0;
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
  for (const Open& open : open_) status.update(write_out(open.chunk, open.chunk->chunk_bytes, open.offset));
  return status;
}

}  // namespace megascope::trace
