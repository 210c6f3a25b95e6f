#include "core/buffer/chunk_sizes.h"
#include "core/buffer/event_buffer.h"
#include "core/buffer/recorder.h"

/// Policy flight: the oldest chunks of the process are dropped for newer ones.
namespace megascope {

/// Notes a full chunk in the file. Policy flight: it may be dropped.
void EventBuffer::note_kept(const trace::FlightChunks::Kept& chunk) noexcept {
  recorder_.saved_bytes_.fetch_add(chunk.saved_bytes, std::memory_order_relaxed);
  if (recorder_.options().policy != BufferPolicy::kFlight) return;
  (void)recorder_.guarded([&] {
    recorder_.flight_.add(chunk);
    return true;
  });
}

/// Drops the current chunk, which could not be written this time.
void EventBuffer::drop_full(std::uint64_t calls) noexcept {
  lost_.fetch_add(calls, std::memory_order_relaxed);
  recorder_.count_loss(LossCause::kNoBuffer, calls);
}

/// Drops the oldest chunks of the process until the full one has space. Returns false if that
/// fails.
bool EventBuffer::write_for_oldest(const trace::SealedChunk& sealed, std::uint64_t calls) noexcept {
  trace::ChunkStore& store = recorder_.store_;
  for (;;) {
    trace::ChunkStore::Offset place = 0;
    Status status = status_of([&] {
      Status result;
      place = store.write_into_free(sealed, result);
      return result;
    });
    if (place != 0) {
      note_kept({place, sealed.header.chunk_bytes, sealed.saved_bytes(), calls, &lost_});
      return true;
    }
    if (status.is_ok() && recorder_.drop_oldest(status)) continue;
    recorder_.note_storage(status);
    if (status.is_ok()) {
      count_dropped(calls);
      return true;
    }
    if (!recorder_.is_passing(status)) return false;
    drop_full(calls);
    return true;
  }
}

/// Drops the oldest chunk. Its records are counted before its space is given back. Returns false if
/// there is none, or with an error if it is still in the file.
bool Recorder::drop_oldest(Status& status) noexcept {
  // One chunk after the other, so that no newer one is gone before the oldest, which would leave a
  // gap between two chunks of a thread if the process were killed in between.
  const std::lock_guard in_order(mutex_);
  trace::FlightChunks::Kept oldest;
  if (!flight_.oldest(oldest)) return false;
  const LossCause cause = cause_of_loss();
  oldest.lost->fetch_add(oldest.calls, std::memory_order_relaxed);
  count_loss(cause, oldest.calls);
  status = status_of([&] { return store_.free(oldest.offset, oldest.bytes); });
  if (status.is_ok()) {
    flight_.remove_oldest();
    saved_bytes_.fetch_sub(oldest.saved_bytes, std::memory_order_relaxed);
    return true;
  }
  oldest.lost->fetch_sub(oldest.calls, std::memory_order_relaxed);
  header_->losses[static_cast<std::size_t>(cause)].fetch_sub(oldest.calls,
                                                             std::memory_order_relaxed);
  return false;
}

bool Recorder::is_passing(const Status& status) const noexcept {
  return options_.policy == BufferPolicy::kFlight && store_.is_lack_of_descriptors(status);
}

/// Returns the first chunk of a thread; nullptr if there is no space for it.
trace::ChunkHeader* Recorder::first_chunk(bool& lacks_descriptor) noexcept {
  lacks_descriptor = false;
  if (!has_storage_) return nullptr;
  trace::ChunkHeader* chunk = nullptr;
  Status status = status_of([&] {
    Status result;
    chunk = store_.acquire(kFirstChunkBytes, kMinChunkBytes, result);
    return result;
  });
  if (chunk == nullptr && options_.policy == BufferPolicy::kFlight && !is_passing(status)) {
    note_storage(status);
    chunk = first_chunk_for_oldest(status);
  }
  note_storage(status);
  lacks_descriptor = store_.is_lack_of_descriptors(status);
  return chunk;
}

trace::ChunkHeader* Recorder::first_chunk_for_oldest(Status& status) noexcept {
  std::size_t bytes = kFirstChunkBytes;
  for (;;) {
    trace::ChunkHeader* chunk = nullptr;
    status = status_of([&] {
      Status result;
      chunk = store_.acquire_free(bytes, result);
      return result;
    });
    if (chunk != nullptr || !status.is_ok()) return chunk;
    if (drop_oldest(status)) continue;
    if (!status.is_ok() || bytes == kMinChunkBytes) return nullptr;
    bytes = kMinChunkBytes;  // no chunk is left to be dropped
  }
}

}  // namespace megascope
