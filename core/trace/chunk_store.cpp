#include "core/trace/chunk_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

void* private_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

}  // namespace

ChunkStore::~ChunkStore() {
  for (const Open& open : open_) munmap(open.chunk, open.chunk->chunk_bytes);
  if (header_ != nullptr) munmap(header_, kFileHeaderBytes);
}

Status ChunkStore::create(const std::string& path, Backing backing, std::uint64_t size_limit_bytes) {
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
  if (exceeds_file_size_limit(offset + bytes)) {
    return Status::error("cannot extend " + path_ + ": the process's file-size limit (ulimit -f) is reached");
  }
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

ChunkHeader* ChunkStore::acquire(std::size_t bytes, Status& status, Use use) {
  const std::lock_guard lock(mutex_);
  status = Status::ok();
  const std::uint64_t limit = size_limit_bytes_ + (use == Use::kDefinitions ? kDefinitionReserveBytes : 0);
  if (header_ == nullptr || next_offset_ + bytes > limit) return nullptr;
  int file = -1;
  if (backing_ == Backing::kMapped) {
    file = open_file(status);
    if (file < 0) return nullptr;
  }
  ChunkHeader* chunk = map(file, next_offset_, bytes, status);
  if (file >= 0) close(file);
  if (chunk == nullptr) return nullptr;
  open_.push_back({chunk, next_offset_});
  next_offset_ += bytes;
  chunk->chunk_bytes = static_cast<std::uint32_t>(bytes);
  chunk->used_bytes.store(sizeof(ChunkHeader), std::memory_order_relaxed);
  chunk->magic = kChunkMagic;
  return chunk;
}

std::uint64_t ChunkStore::offset_of(const ChunkHeader* chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.chunk == chunk; });
  return found == open_.end() ? 0 : found->offset;
}

void ChunkStore::release(ChunkHeader* chunk) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.chunk == chunk; });
  if (found == open_.end()) return;
  const std::size_t bytes = chunk->chunk_bytes;
  if (backing_ == Backing::kWritten) (void)write_out(chunk, bytes, found->offset);
  open_.erase(found);
  munmap(chunk, bytes);
}

ChunkHeader* ChunkStore::reopen(std::uint64_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Status status;
  int file = -1;
  if (backing_ == Backing::kMapped) {
    file = open_file(status);
    if (file < 0) return nullptr;
  }
  ChunkHeader* chunk = map(file, offset, bytes, status);
  if (file >= 0) close(file);
  if (chunk == nullptr) return nullptr;
  const bool is_there = backing_ == Backing::kMapped || read_back(chunk, bytes, offset);
  const std::uint64_t used = chunk->used_bytes.load(std::memory_order_relaxed);
  const bool is_whole = is_there && chunk->magic == kChunkMagic && chunk->chunk_bytes == bytes &&
                        used >= sizeof(ChunkHeader) && used <= bytes;
  if (!is_whole) {
    std::memset(static_cast<void*>(chunk), 0, sizeof *chunk);
    chunk->chunk_bytes = static_cast<std::uint32_t>(bytes);
    chunk->used_bytes.store(sizeof(ChunkHeader), std::memory_order_relaxed);
    chunk->magic = kChunkMagic;
  }
  open_.push_back({chunk, offset});
  return chunk;
}

bool ChunkStore::read_back(void* to, std::size_t bytes, std::uint64_t offset) const {
  Status status;
  const int file = open_file(status);
  if (file < 0) return false;
  const ssize_t size = pread(file, to, bytes, static_cast<off_t>(offset));
  close(file);
  return size == static_cast<ssize_t>(bytes);
}

Status ChunkStore::write_out(const void* from, std::size_t bytes, std::uint64_t offset) const {
  if (exceeds_file_size_limit(offset + bytes)) {
    return Status::error("cannot extend " + path_ + ": the process's file-size limit (ulimit -f) is reached");
  }
  Status status;
  const int file = open_file(status);
  if (file < 0) return status;
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = pwrite(file, at, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      status = Status::from_errno("cannot write " + path_, errno);
      break;
    }
    at += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  close(file);
  return status;
}

void ChunkStore::trim(const ChunkHeader* chunk) {
  const std::uint64_t offset = offset_of(chunk);
  if (backing_ != Backing::kMapped || offset == 0) return;
  const std::uint64_t used = chunk->used_bytes.load(std::memory_order_relaxed);
  const std::uint64_t keep = (used + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  if (keep >= chunk->chunk_bytes) return;
  Status status;
  const int file = open_file(status);
  if (file < 0) return;
  (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset + keep),
                  static_cast<off_t>(chunk->chunk_bytes - keep));
  close(file);
}

Status ChunkStore::flush() {
  const std::lock_guard lock(mutex_);
  if (backing_ == Backing::kMapped || header_ == nullptr) return Status::ok();
  Status status = write_out(header_, kFileHeaderBytes, 0);
  for (const Open& open : open_) status.update(write_out(open.chunk, open.chunk->chunk_bytes, open.offset));
  return status;
}

}  // namespace megascope::trace
