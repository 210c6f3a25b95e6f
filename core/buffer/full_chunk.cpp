#include "core/base/wiped_memory.h"
#include "core/buffer/chunk_sizes.h"
#include "core/buffer/event_buffer.h"
#include "core/buffer/recorder.h"

/// What becomes of a full chunk.
namespace megascope {

bool EventBuffer::next_chunk() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_ended_) return false;
  const std::uint64_t calls = fold(*chunk_);
  if (chunk_ == discard_) {
    if (aside_.chunk == nullptr) count_dropped(calls);
    return begin_chunk(discard_);
  }
  return begin_chunk(replace_full(calls));
}

/// Returns the chunk to continue with when the current one, with so many calls, is full.
trace::ChunkHeader* EventBuffer::replace_full(std::uint64_t calls) noexcept {
  trace::ChunkStore& store = recorder_.store_;
  const std::size_t bytes = chunk_bytes_for(store.backing());
  if (chunk_->chunk_bytes < bytes) {
    if (trace::ChunkHeader* larger = recorder_.acquire_chunk(bytes, bytes))
      return move_on(larger, calls);
  }
  trace::SealedChunk sealed;
  sealer_.seal(*chunk_, calls, sealed);
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
  const bool is_at_limit = status.is_ok() || store.is_out_of_space();
  if (is_at_limit && recorder_.options().policy == BufferPolicy::kFlight &&
      write_for_oldest(sealed, calls))
    return chunk_;
  if (status.is_ok()) {
    if (trace::ChunkHeader* rest = recorder_.acquire_chunk(bytes, kMinChunkBytes))
      return move_on(rest, calls);
  }
  return move_on(discard_chunk(), calls);
}

/// Leaves the full chunk, with so many calls, where it is in the file and continues in `to`.
trace::ChunkHeader* EventBuffer::move_on(trace::ChunkHeader* to, std::uint64_t calls) noexcept {
  const trace::PendingCall pending = chunk_->pending[0];
  chunk_->pending[0] = {{trace::kUnknownCall, 0, 0, 0}};  // the thread goes on
  const trace::ChunkStore::Offset offset = recorder_.store_.offset_of(chunk_);
  const std::size_t bytes = chunk_->chunk_bytes;
  const Status status = status_of([&] { return recorder_.store_.release(chunk_); });
  if (status.is_ok()) {
    note_kept({offset, bytes, 0, calls, &lost_});
  } else {
    recorder_.note_storage(status);
    count_dropped(calls);
  }
  chunk_ = to != nullptr ? to : &parked_;
  chunk_->pending[0] = pending;
  recorder_.note_use();
  return to;
}

/// Notes a full chunk in the file. Policy flight: it may be dropped.
void EventBuffer::note_kept(const trace::FlightChunks::Kept& chunk) noexcept {
  recorder_.saved_bytes_.fetch_add(chunk.saved_bytes, std::memory_order_relaxed);
  if (recorder_.options().policy != BufferPolicy::kFlight) return;
  (void)recorder_.guarded([&] {
    recorder_.flight_.add(chunk);
    return true;
  });
}

/// Policy flight: drops the oldest chunks of the process until the full one has space. Dropped
/// records are counted before their space is given back. Returns false if that fails.
bool EventBuffer::write_for_oldest(const trace::SealedChunk& sealed, std::uint64_t calls) noexcept {
  trace::ChunkStore& store = recorder_.store_;
  Status status;
  while (status.is_ok()) {
    trace::ChunkStore::Offset place = 0;
    status = status_of([&] {
      Status result;
      place = store.write_into_free(sealed, result);
      return result;
    });
    if (place != 0) {
      note_kept({place, sealed.header.chunk_bytes, sealed.saved_bytes(), calls, &lost_});
      return true;
    }
    if (!status.is_ok()) break;
    // One chunk after the other, so that no newer one is gone before the oldest, which would leave
    // a gap between two chunks of a thread if the process were killed in between.
    const std::lock_guard in_order(recorder_.mutex_);
    trace::FlightChunks::Kept oldest;
    if (!recorder_.flight_.take_oldest(oldest)) {
      count_dropped(calls);
      return true;
    }
    oldest.lost->fetch_add(oldest.calls, std::memory_order_relaxed);
    recorder_.count_loss(recorder_.cause_of_loss(), oldest.calls);
    recorder_.saved_bytes_.fetch_sub(oldest.saved_bytes, std::memory_order_relaxed);
    status = status_of([&] { return store.free(oldest.offset, oldest.bytes); });
  }
  recorder_.note_storage(status);
  return false;
}

void Recorder::note_use() noexcept {
  constexpr std::uint64_t kTold = 10;  // 1 / kTold of the bound
  if (!options_.on_tenth_used || is_tenth_used_.load(std::memory_order_relaxed)) return;
  const BufferUse use{store_.used_bytes(), store_.bound_bytes(),
                      clock::monotonic_ns() - opened_ns_};
  if (use.used_bytes < use.bound_bytes / kTold || is_tenth_used_.exchange(true)) return;
  (void)guarded([&] {
    options_.on_tenth_used(use);
    return true;
  });
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
