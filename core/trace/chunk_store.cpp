#include "core/trace/chunk_store.h"

#include "core/base/no_cancel.h"
#include "core/base/safe_file.h"
#include "core/base/wiped_memory.h"
#include "core/trace/file_writes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace megascope::trace {
namespace {

constexpr std::uint64_t kDefinitionReserveBytes = std::uint64_t{64} << 20;

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
    header_ = reinterpret_cast<FileHeader*>(
        map(file.number(), 0, kFileHeaderBytes, Use::kDefinitions, status));
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
    status = failed("cannot open", errno);
  } else if (fstat(file, &info) != 0 || info.st_dev != device_ || info.st_ino != inode_) {
    status = Status::error(path_ + " has been replaced by another file");
    close(file);
    return -1;
  }
  return file;
}

/// Compares without allocating: memory may be what is missing.
bool ChunkStore::is_lack_of_descriptors(const Status& status) const {
  const std::string_view message = status.message();
  const auto ends_with = [message](int error_number) {
    char buffer[128] = "";
    return message.ends_with(strerror_r(error_number, buffer, sizeof buffer));
  };
  return message.starts_with("cannot open ") && (ends_with(EMFILE) || ends_with(ENFILE));
}

/// Returns the error. If it says that the file cannot grow, events are refused from then on.
Status ChunkStore::failed(const char* what, int error_number, Use use) const {
  if (use == Use::kEvents && is_no_space(error_number))
    is_out_of_space_.store(true, std::memory_order_relaxed);
  return Status::from_errno(what + (" " + path_), error_number);
}

Status ChunkStore::is_beyond_limit(std::uint64_t end, Use use) const {
  if (!exceeds_file_size_limit(end)) return Status::ok();
  if (use == Use::kEvents) is_out_of_space_.store(true, std::memory_order_relaxed);
  return file_size_error(path_);
}

Status ChunkStore::extend(int file, std::uint64_t offset, std::size_t bytes, Use use) const {
  Status status = is_beyond_limit(offset + bytes, use);
  // posix_fallocate() would fall back to writing every block; a file system without fallocate() is
  // not worth mapping.
  if (status.is_ok() && !allocate(file, 0, offset, bytes))
    status = failed("cannot reserve space in", errno, use);
  return status;
}

/// After one refusal, events are refused for good: a file that continued when space became free
/// would have a gap.
Status ChunkStore::ask_for_space(int file, std::uint64_t bytes, Use use) const {
  Status status = space_.check(file, path_, next_offset_ - trimmed_bytes_, bytes, use);
  if (!status.is_ok() && use == Use::kEvents)
    is_out_of_space_.store(true, std::memory_order_relaxed);
  return status;
}

ChunkHeader* ChunkStore::map(int file, std::uint64_t offset, std::size_t bytes, Use use,
                             Status& status) {
  if (backing_ == Backing::kWritten) {
    void* memory = unforked_memory(bytes);
    if (memory == nullptr) status = Status::from_errno("no memory for trace buffers", errno);
    return static_cast<ChunkHeader*>(memory);
  }
  status = extend(file, offset, bytes, use);
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
  // Private memory, too, must have a place that can be written to.
  if (status.is_ok()) status = is_beyond_limit(next_offset_ + bytes, use);
  if (status.is_ok() && use == Use::kEvents) status = write_definitions(file.number());
  ChunkHeader* const chunk = status.is_ok() ? map(file.number(), next_offset_, bytes, use, status)
                                            : nullptr;
  if (chunk == nullptr) return nullptr;
  open_.push_back({chunk, next_offset_, bytes, use});
  next_offset_ += bytes;
  chunk->chunk_bytes = static_cast<std::uint32_t>(bytes);
  chunk->used_bytes.store(sizeof(ChunkHeader), std::memory_order_relaxed);
  chunk->magic = kChunkMagic;
  return chunk;
}

ChunkHeader* ChunkStore::acquire_free(std::size_t bytes, Status& status) {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  status = Status::ok();
  const Offset offset = free_.find(bytes);
  if (offset == FreeSpace::kNone) return nullptr;
  open_.reserve(open_.size() + 1);
  const files::Descriptor file(open_file(status));
  if (status.is_ok()) status = write_definitions(file.number());
  // Headers from the end to the begin: at each moment a reader can walk over the space.
  if (status.is_ok())
    status = write_free(file.number(), offset + bytes, free_.bytes_at(offset) - bytes);
  if (status.is_ok()) status = write_free(file.number(), offset, bytes);
  ChunkHeader* const chunk = status.is_ok()
                                 ? map(file.number(), offset, bytes, Use::kEvents, status)
                                 : nullptr;
  constexpr int kMaxRefusals = 3;
  if (chunk == nullptr && is_out_of_space() && refusals_ < kMaxRefusals) {
    // Trimmed space for which there are no blocks any more. It is not tried again.
    ++refusals_;
    take_free(offset, bytes);
    status = Status::ok();
  }
  if (chunk == nullptr) return nullptr;
  open_.push_back({chunk, offset, bytes, Use::kEvents});
  take_free(offset, bytes);
  chunk->chunk_bytes = static_cast<std::uint32_t>(bytes);
  chunk->used_bytes.store(sizeof(ChunkHeader), std::memory_order_relaxed);
  chunk->magic = kChunkMagic;
  chunk->kind = ChunkKind::kFree;
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
  if (backing_ == Backing::kWritten) status = write_open(*found);
  open_.erase(found);
  munmap(chunk, mapped_bytes);
  return status;
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
  if (!is_done) return;
  const std::lock_guard lock(mutex_);
  if (offset + chunk->chunk_bytes == next_offset_) {
    next_offset_ -= rest;
  } else {
    trimmed_bytes_ += rest;
    free_.add(FreeSpace::piece(offset + keep, rest));  // all zero: a reader skips it
  }
  chunk->chunk_bytes = static_cast<std::uint32_t>(keep);
}

std::uint64_t ChunkStore::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return next_offset_ - trimmed_bytes_;
}

ChunkStore::OpenUse ChunkStore::open_use(std::size_t chunk_bytes) const {
  const std::lock_guard lock(mutex_);
  OpenUse use;
  for (const Open& open : open_) {
    if (open.use != Use::kEvents) continue;
    const std::uint64_t used = open.chunk->used_bytes.load(std::memory_order_relaxed);
    use.used_bytes += used;
    if (open.mapped_bytes < chunk_bytes && used > open.mapped_bytes / 2)
      use.soon_bytes += chunk_bytes;
  }
  return use;
}

std::uint64_t ChunkStore::growth_bytes() const {
  const NoCancel no_cancel;
  return space_.growth_bytes(path_, used_bytes());
}

Status ChunkStore::flush() {
  const NoCancel no_cancel;
  const std::lock_guard lock(mutex_);
  if (backing_ == Backing::kMapped || header_ == nullptr) return Status::ok();
  Status status;
  const files::Descriptor file(open_file(status));
  if (!file.is_open()) return status;
  if (!write_all(file.number(), header_, kFileHeaderBytes, 0))
    status = failed("cannot write", errno);
  for (const Open& open : open_) status.update(write_open(open));
  return status;
}

}  // namespace megascope::trace
