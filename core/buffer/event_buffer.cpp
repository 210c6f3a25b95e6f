#include "core/buffer/event_buffer.h"

#include <sys/mman.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/buffer/recorder.h"

namespace megascope {
namespace {

// A thread that makes a few calls should not cost a MiB; one that makes many, few system calls.
constexpr std::size_t kFirstChunkBytes = std::size_t{64} << 10;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

std::uint64_t* words_of(trace::ChunkHeader* chunk) { return trace::first_word(chunk); }

}  // namespace

EventBuffer::EventBuffer(Recorder& recorder, LocationId location) : location_(location), recorder_(recorder) {
  is_lossy_ = recorder.options().policy == BufferPolicy::kFlight;
  (void)next_chunk();
}

EventBuffer::~EventBuffer() {
  if (discard_ != nullptr) munmap(discard_, discard_->chunk_bytes);
}

void EventBuffer::use(trace::ChunkHeader* chunk) noexcept {
  chunk->base_ticks = base_ticks_ = recorder_.ticks();
  chunk->lost_before = lost_;
  cursor_ = words_of(chunk);
  end_ = reinterpret_cast<Word*>(reinterpret_cast<std::byte*>(chunk) + chunk->chunk_bytes);
  has_tried_next_ = chunk == discard_;
  limit_ = has_tried_next_ ? end_ : cursor_ + (end_ - cursor_) / 2;
  chunk_ = chunk;
}

bool EventBuffer::make_room(std::size_t words) noexcept {
  if (chunk_ == nullptr) {
    recorder_.count_loss(LossCause::kNoBuffer);
    return false;
  }
  const std::uint64_t begin = recorder_.ticks();
  bool has_room = true;
  while (has_room && cursor_ + words > limit_) {
    if (!has_tried_next_) {
      prefetch();
    } else {
      has_room = next_chunk();
    }
  }
  recorder_.add_overhead(recorder_.ticks() - begin);
  return has_room;
}

void EventBuffer::prefetch() noexcept {
  next_ = recorder_.acquire_chunk(location_, sequence_, kChunkBytes);
  has_tried_next_ = true;
  limit_ = end_;
}

bool EventBuffer::next_chunk() noexcept {
  trace::ChunkHeader* full = chunk_;
  trace::ChunkHeader* next = next_;
  next_ = nullptr;
  if (next == nullptr && full == nullptr) next = recorder_.acquire_chunk(location_, sequence_, kFirstChunkBytes);
  if (full != nullptr && full != discard_ && next != nullptr) {
    kept_.push_back({recorder_.store_.offset_of(full), full->chunk_bytes});
    recorder_.store_.release(full);
    full = nullptr;
  }
  if (next == nullptr && recorder_.options().policy == BufferPolicy::kFlight && full != discard_) next = recycle();
  if (next == nullptr) next = discard_chunk();
  if (next == nullptr) {
    recorder_.count_loss(LossCause::kNoBuffer);
    chunk_ = nullptr;
    cursor_ = limit_ = nullptr;
    return false;
  }
  if (next != discard_) next->sequence = sequence_++;
  next->location = location_;
  next->kind = trace::ChunkKind::kEvents;
  use(next);
  return true;
}

/// Policy flight: the oldest chunk of this location gives its place; the current one when it is the only one.
trace::ChunkHeader* EventBuffer::recycle() noexcept {
  trace::ChunkHeader* current = chunk_;
  if (current == nullptr) return nullptr;
  if (kept_.empty()) {
    fold_and_reset(current);
    return current;
  }
  const Kept oldest = kept_.front();
  trace::ChunkHeader* chunk = recorder_.store_.reopen(oldest.offset, oldest.bytes);
  if (chunk == nullptr) {
    fold_and_reset(current);
    return current;
  }
  kept_.pop_front();
  kept_.push_back({recorder_.store_.offset_of(current), current->chunk_bytes});
  recorder_.store_.release(current);
  fold_and_reset(chunk);
  return chunk;
}

/// Nothing more can be stored: records go to private memory and from there to the profile.
trace::ChunkHeader* EventBuffer::discard_chunk() noexcept {
  if (discard_ != nullptr) {
    fold_and_reset(discard_);
    return discard_;
  }
  void* memory = mmap(nullptr, kFirstChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, kFirstChunkBytes, MADV_DONTFORK);
  discard_ = static_cast<trace::ChunkHeader*>(memory);
  discard_->chunk_bytes = kFirstChunkBytes;
  discard_->used_bytes.store(sizeof(trace::ChunkHeader), std::memory_order_relaxed);
  is_lossy_ = true;
  if (chunk_ != nullptr) {
    kept_.push_back({recorder_.store_.offset_of(chunk_), chunk_->chunk_bytes});
    recorder_.store_.release(chunk_);
  }
  return discard_;
}

void EventBuffer::fold_and_reset(trace::ChunkHeader* chunk) noexcept {
  const std::uint64_t lost = fold(chunk);
  lost_ += lost;
  recorder_.count_loss(recorder_.storage_status().is_ok() ? LossCause::kBufferFull : LossCause::kStorage, lost);
  chunk->used_bytes.store(sizeof(trace::ChunkHeader), std::memory_order_relaxed);
  chunk->pending[0] = {};
}

std::uint64_t EventBuffer::fold(const trace::ChunkHeader* chunk) noexcept {
  if (folded_ == nullptr) {
    folded_ = std::make_unique<Profile>();
    folded_->set_world_rank(recorder_.definitions_.info.world_rank);
  }
  {
    const std::lock_guard lock(recorder_.mutex_);
    folded_->define(recorder_.definitions_);
  }
  const auto* begin = reinterpret_cast<const Word*>(chunk + 1);
  const std::uint64_t used = chunk->used_bytes.load(std::memory_order_relaxed);
  fold_decoder_.begin_chunk({begin, (used - sizeof *chunk) / sizeof(Word)}, chunk->base_ticks);
  std::uint64_t count = 0;
  Call call;
  while (fold_decoder_.next(call)) {
    folded_->add(call);
    ++count;
  }
  if (fold_decoder_.flush(call)) {
    folded_->add(call);
    ++count;
  }
  return count;
}

bool EventBuffer::rebase(std::uint64_t ticks) noexcept {
  if (!ensure(encoding::kTimeBaseWords)) return false;
  Word* to = cursor_;
  to[0] = encoding::kTimeBase;
  to[1] = base_ticks_ = ticks;
  pending() = {};
  commit(to + encoding::kTimeBaseWords);
  return true;
}

void EventBuffer::close() noexcept {
  if (next_ != nullptr) recorder_.store_.release(next_);
  next_ = nullptr;
  if (chunk_ != nullptr && chunk_ != discard_) {
    chunk_->pending[0] = {};
    recorder_.store_.release(chunk_);
  }
  if (chunk_ == discard_ && chunk_ != nullptr) fold_and_reset(discard_);
  chunk_ = nullptr;
  cursor_ = limit_ = nullptr;
}

}  // namespace megascope
