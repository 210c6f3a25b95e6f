#include "core/base/clock.h"
#include "core/base/wiped_memory.h"
#include "core/buffer/chunk_sizes.h"
#include "core/buffer/event_buffer.h"
#include "core/buffer/recorder.h"

#include <algorithm>

/// What becomes of a full chunk.
namespace megascope {

bool EventBuffer::next_chunk() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_ended_) return false;
  const std::uint64_t calls = fold(*chunk_);
  if (chunk_ == discard_) {
    if (aside_.chunk != nullptr) return begin_chunk(discard_);
    count_dropped(calls);
    // With windows of steps, these may be records that are not wanted.
    const bool tries_again = recorder_.options().policy == BufferPolicy::kFlight &&
                             !recorder_.options().has_windows && !recorder_.has_stopped();
    trace::ChunkHeader* const chunk = tries_again ? recorder_.first_chunk(lacks_descriptor_)
                                                  : nullptr;
    if (chunk == nullptr) return begin_chunk(discard_);
    ++sequence_;  // readers see that calls are missing
    return begin_chunk(chunk);
  }
  return begin_chunk(replace_full(calls));
}

/// Returns the chunk to continue with when the current one, with so many calls, is full.
trace::ChunkHeader* EventBuffer::replace_full(std::uint64_t calls) noexcept {
  trace::ChunkStore& store = recorder_.store_;
  const std::size_t bytes = chunk_bytes_for(store.backing());
  trace::SealedChunk sealed;
  if (chunk_->chunk_bytes < bytes) {
    if (trace::ChunkHeader* larger = recorder_.acquire_chunk(bytes, bytes)) {
      if (recorder_.wants_use()) {
        sealer_.seal(*chunk_, calls, sealed);  // to know how much packing saves
        recorder_.note_full(*chunk_, sealed.header.chunk_bytes);
      }
      return move_on(larger, calls);
    }
  }
  sealer_.seal(*chunk_, calls, sealed);
  recorder_.note_full(*chunk_, sealed.header.chunk_bytes);
  trace::ChunkStore::Offset place = 0;
  const Status status = status_of([&] {
    Status result;
    place = store.append(sealed, result);
    return result;
  });
  if (place != 0) {
    note_kept({place, sealed.header.chunk_bytes, sealed.saved_bytes(), calls, &lost_});
    recorder_.note_use();
    return chunk_;
  }
  recorder_.note_storage(status);
  if (recorder_.options().policy == BufferPolicy::kFlight) {
    if (recorder_.is_passing(status)) {
      drop_full(calls);
      return chunk_;
    }
    const bool is_at_limit = status.is_ok() || store.is_out_of_space();
    if (is_at_limit && write_for_oldest(sealed, calls)) return chunk_;
  }
  if (status.is_ok()) {
    if (trace::ChunkHeader* rest = recorder_.acquire_chunk(bytes, kMinChunkBytes))
      return move_on(rest, calls);
  }
  recorder_.note_stop(status);
  lacks_descriptor_ = store.is_lack_of_descriptors(status);
  return move_on(discard_chunk(), calls);
}

/// Leaves the full chunk, with so many calls, where it is in the file and continues in `to`.
trace::ChunkHeader* EventBuffer::move_on(trace::ChunkHeader* to, std::uint64_t calls) noexcept {
  const trace::PendingCall pending = chunk_->pending[0];
  chunk_->pending[0] = {{trace::kUnknownCall, 0, 0, 0}};  // the thread goes on
  const Status status = release_kept(calls);
  if (!status.is_ok()) {
    recorder_.note_storage(status);
    count_dropped(calls);
  }
  chunk_ = to != nullptr ? to : &parked_;
  chunk_->pending[0] = pending;
  recorder_.note_use();
  return to;
}

/// Releases the current chunk, with so many calls, which stays in the file.
Status EventBuffer::release_kept(std::uint64_t calls) noexcept {
  const trace::ChunkStore::Offset offset = recorder_.store_.offset_of(chunk_);
  const std::size_t bytes = chunk_->chunk_bytes;
  const Status status = status_of([&] { return recorder_.store_.release(chunk_); });
  if (status.is_ok()) note_kept({offset, bytes, 0, calls, &lost_});
  return status;
}

/// Notes a full chunk, which takes so many bytes when it is packed.
void Recorder::note_full(const trace::ChunkHeader& chunk, std::size_t packed_bytes) noexcept {
  full_bytes_.fetch_add(chunk.used_bytes.load(std::memory_order_relaxed),
                        std::memory_order_relaxed);
  packed_bytes_.fetch_add(packed_bytes, std::memory_order_relaxed);
}

/// Returns what is used of the trace, and how fast it grows: what was recorded takes as much of the
/// file as if all of it were packed as well as the chunks that were full so far.
BufferUse Recorder::use_now() const {
  const trace::ChunkStore::OpenUse open = store_.open_use(chunk_bytes_for(store_.backing()));
  const auto full = static_cast<double>(full_bytes_.load(std::memory_order_relaxed));
  const auto packed = static_cast<double>(packed_bytes_.load(std::memory_order_relaxed));
  const std::uint64_t file_bytes = store_.used_bytes();
  const std::uint64_t bound = store_.bound_bytes();
  const std::uint64_t growth = store_.growth_bytes();
  BufferUse use;
  use.is_limited_by_system = growth < bound - std::min(bound, file_bytes);
  use.limit_bytes = use.is_limited_by_system ? file_bytes + growth : bound;
  use.used_bytes = file_bytes;
  if (file_bytes + open.soon_bytes < use.limit_bytes) use.used_bytes += open.soon_bytes;
  use.recorded_bytes = full == 0
                           ? 0
                           : static_cast<std::uint64_t>(
                                 (full + static_cast<double>(open.used_bytes)) * packed / full);
  use.elapsed_ns = clock::monotonic_ns() - opened_ns_;
  return use;
}

void Recorder::note_use() noexcept {
  constexpr std::uint64_t kTold = 10;  // 1 / kTold of the limit
  if (!wants_use() || is_use_told_.exchange(true)) return;
  bool is_done = true;  // also if memory runs out
  (void)guarded([&] {
    const BufferUse use = use_now();
    is_done = use.used_bytes >= use.limit_bytes / kTold && use.recorded_bytes != 0 &&
              (use.rest_ns() == 0 || options_.on_tenth_used(use));
    return true;
  });
  if (!is_done) is_use_told_.store(false);
}

/// Returns private memory for records that are only added to the profile, because nothing more can
/// be stored.
trace::ChunkHeader* EventBuffer::discard_chunk() noexcept {
  is_lossy_ = true;
  if (discard_ != nullptr) return discard_;
  void* const memory = unforked_memory(kFirstChunkBytes);
  if (memory == nullptr) {
    recorder_.count_loss(LossCause::kNoBuffer);
    return nullptr;
  }
  discard_ = static_cast<trace::ChunkHeader*>(memory);
  discard_->chunk_bytes = kFirstChunkBytes;
  return discard_;
}

}  // namespace megascope
