#include "core/buffer/event_buffer.h"

#include "core/base/clock.h"
#include "core/buffer/recorder.h"
#include "core/encoding/decode_words.h"
#include "core/encoding/hook_words.h"
#include "core/record/make_fact.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace megascope {
namespace {

// A first chunk is small, for threads with few calls. Mapped chunks fit into a core's cache while
// they are written, added to the profile and copied. Written chunks are larger: each is one
// transfer to a network file system.
constexpr std::size_t kFirstChunkBytes = std::size_t{64} << 10;
constexpr std::size_t kMappedChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kWrittenChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kMinChunkBytes = std::size_t{16} << 10;

std::size_t chunk_bytes_for(trace::Backing backing) {
  return backing == trace::Backing::kMapped ? kMappedChunkBytes : kWrittenChunkBytes;
}

}  // namespace

EventBuffer::EventBuffer(Recorder& recorder, LocationId location, trace::ChunkKind kind)
    : location_(location), kind_(kind), recorder_(recorder) {
  is_lossy_ = recorder.options().policy == BufferPolicy::kFlight || recorder.options().has_windows;
  folded_.set_world_rank(recorder.definitions_.info.world_rank);
  trace::ChunkHeader* first = recorder.acquire_chunk(kFirstChunkBytes, kMinChunkBytes);
  (void)begin_chunk(first != nullptr ? first : discard_chunk());
}

EventBuffer::~EventBuffer() {
  if (discard_ != nullptr) munmap(discard_, kFirstChunkBytes);
}

bool EventBuffer::make_space(std::size_t words) noexcept {
  if (!is_usable()) {
    recorder_.count_loss(LossCause::kNoBuffer);
    return false;
  }
  const OverheadTimer own(recorder_);
  return next_chunk() && has_space(words);
}

bool EventBuffer::next_chunk() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_ended_) return false;
  const std::uint64_t calls = fold(*chunk_);
  if (chunk_ == discard_) {
    if (aside_.chunk == nullptr) count_dropped(calls);
    return begin_chunk(discard_);
  }
  const bool is_noted = recorder_.guarded([&] {
    kept_.push_back({recorder_.store_.offset_of(chunk_), chunk_->chunk_bytes, calls});
    return true;
  });
  if (is_noted) return begin_chunk(replace_full());
  count_dropped(calls);  // the position cannot be noted: reuse the chunk, its records are lost
  return begin_chunk(chunk_);
}

/// Makes `chunk` the empty current chunk. A reader after a kill finds either its old content or an
/// empty chunk with the thread's current call.
bool EventBuffer::begin_chunk(trace::ChunkHeader* chunk) noexcept {
  if (chunk == nullptr) {
    park();
    return false;
  }
  trace::PendingCall pending = chunk_->pending[0];
  const clock::Moment now = clock::measure_moment(recorder_.options().use_tsc);
  if (pending.words[0] == fold_decoder_.last_outer_word())
    pending.words[0] = trace::kUnknownCall;  // it is recorded; only further facts of it follow
  if (encoding::is_region(pending.words[0])) {
    const std::uint64_t entered = encoding::entry_ticks(pending.words[0], base_ticks_);
    const auto region = static_cast<RegionId>(pending.words[0] & 0xFFFF);
    pending.words[0] = encoding::time_fits(entered, now.ticks)
                           ? encoding::entry_word(entered, now.ticks, region)
                           : trace::kUnknownCall;
  }
  chunk->used_bytes.store(sizeof *chunk, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  chunk->pending[0] = {};
  chunk->kind = kind_;
  chunk->location = location_;
  chunk->sequence = chunk == discard_ ? sequence_ : sequence_++;
  chunk->lost_before = lost_;
  chunk->moment_ticks = now.ticks;
  chunk->moment_monotonic_ns = now.monotonic_ns;
  chunk->moment_realtime_ns = now.realtime_ns;
  chunk->base_ticks = base_ticks_ = now.ticks;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  chunk->pending[0] = pending;
  cursor_ = trace::first_word(chunk);
  limit_ = reinterpret_cast<Word*>(reinterpret_cast<std::byte*>(chunk) + chunk->chunk_bytes);
  chunk_ = chunk;
  return true;
}

/// Returns the chunk to continue with when the current one, the last in kept_, is full.
trace::ChunkHeader* EventBuffer::replace_full() noexcept {
  trace::ChunkStore& store = recorder_.store_;
  const std::size_t bytes = chunk_bytes_for(store.backing());
  if (chunk_->chunk_bytes < bytes) {
    if (trace::ChunkHeader* larger = recorder_.acquire_chunk(bytes, bytes)) return move_on(larger);
  }
  trace::ChunkStore::Offset copy = 0;
  const Status status = status_of([&] {
    Status result;
    copy = store.append_copy(chunk_, result);
    return result;
  });
  if (copy != 0) {
    kept_.back().offset = copy;
    return chunk_;
  }
  const bool is_at_limit = status.is_ok() || store.is_out_of_space();
  if (is_at_limit && recorder_.options().policy == BufferPolicy::kFlight && give_up_oldest()) {
    recorder_.note_storage(status);
    return chunk_;
  }
  if (status.is_ok()) {
    if (trace::ChunkHeader* rest = recorder_.acquire_chunk(bytes, kMinChunkBytes))
      return move_on(rest);
  } else {
    recorder_.note_storage(status);
  }
  return move_on(discard_chunk());
}

/// Leaves the full chunk where it is in the file and continues in `to`.
trace::ChunkHeader* EventBuffer::move_on(trace::ChunkHeader* to) noexcept {
  const trace::PendingCall pending = chunk_->pending[0];
  chunk_->pending[0] = {};
  const Status status = status_of([&] { return recorder_.store_.release(chunk_); });
  if (!status.is_ok()) {
    recorder_.note_storage(status);
    count_dropped(kept_.back().calls);
  }
  chunk_ = to != nullptr ? to : &parked_;
  chunk_->pending[0] = pending;
  return to;
}

/// Policy flight: overwrites the oldest chunk of this location with the current one. Returns false
/// if that fails.
bool EventBuffer::give_up_oldest() noexcept {
  trace::ChunkStore& store = recorder_.store_;
  const Kept current = kept_.back();
  kept_.pop_back();
  Status status;
  while (!kept_.empty() && kept_.front().bytes != current.bytes) {
    status.update(
        status_of([&] { return store.clear(chunk_, kept_.front().offset, kept_.front().bytes); }));
    count_dropped(kept_.front().calls);
    kept_.pop_front();
  }
  if (kept_.empty()) {
    count_dropped(current.calls);
    return true;
  }
  const Kept oldest = kept_.front();
  kept_.pop_front();
  status.update(status_of([&] { return store.overwrite(chunk_, oldest.offset); }));
  count_dropped(oldest.calls);
  (void)recorder_.guarded([&] { kept_.push_back({oldest.offset, oldest.bytes, current.calls}); });
  recorder_.note_storage(status);
  return status.is_ok();
}

/// Returns private memory for records that are only added to the profile, because nothing more can
/// be stored.
trace::ChunkHeader* EventBuffer::discard_chunk() noexcept {
  is_lossy_ = true;
  if (discard_ != nullptr) return discard_;
  void* memory = mmap(nullptr, kFirstChunkBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    recorder_.count_loss(LossCause::kNoBuffer);
    return nullptr;
  }
  madvise(memory, kFirstChunkBytes, MADV_DONTFORK);
  discard_ = static_cast<trace::ChunkHeader*>(memory);
  discard_->chunk_bytes = kFirstChunkBytes;
  return discard_;
}

void EventBuffer::count_dropped(std::uint64_t calls) noexcept {
  lost_ += calls;
  recorder_.count_loss(recorder_.cause_of_loss(), calls);
}

/// Adds the records of a chunk to the profile. Returns the number of calls. A call whose facts may
/// continue in the next chunk is counted there.
std::uint64_t EventBuffer::fold(trace::ChunkHeader& chunk) noexcept {
  std::uint64_t count = 0;
  try {
    define_for_fold();
    const std::uint64_t used = chunk.used_bytes.load(std::memory_order_acquire);
    const std::span<const Word> words(trace::first_word(&chunk),
                                      (used - sizeof chunk) / sizeof(Word));
    if (kind_ == trace::ChunkKind::kHooks) {
      hook_decoder_.begin_chunk(words, chunk.base_ticks);
      count = hook_decoder_.add_all_to(folded_);
    } else {
      fold_decoder_.begin_chunk(words, chunk.base_ticks);
      count = fold_decoder_.add_all_to(folded_);
    }
  } catch (const std::exception&) {
    recorder_.count_loss(LossCause::kNoBuffer);
  }
  return count;
}

Profile EventBuffer::profile_so_far() {
  const std::lock_guard lock(mutex_);
  if (is_ended_ || !is_usable()) return folded_;
  define_for_fold();
  Profile sum = folded_;
  encoding::CallDecoder decoder = fold_decoder_;
  const auto add = [&](trace::ChunkHeader& chunk) {
    const std::uint64_t used = chunk.used_bytes.load(std::memory_order_acquire);
    decoder.begin_chunk({trace::first_word(&chunk), (used - sizeof chunk) / sizeof(Word)},
                        chunk.base_ticks);
    (void)decoder.add_all_to(sum);
  };
  if (aside_.chunk != nullptr) add(*aside_.chunk);
  add(*chunk_);
  Call call;
  if (decoder.flush(call)) sum.add(call);
  return sum;
}

void EventBuffer::define_for_fold() {
  const std::lock_guard lock(recorder_.mutex_);
  const ProcessDefinitions& all = recorder_.definitions_;
  for (; defined_regions_ < all.regions.size(); ++defined_regions_)
    folded_.define(all.regions[defined_regions_]);
  for (; defined_comms_ < all.comms.size(); ++defined_comms_)
    folded_.define(all.comms[defined_comms_]);
  for (; defined_files_ < all.files.size(); ++defined_files_)
    folded_.define(all.files[defined_files_]);
}

bool EventBuffer::rebase(std::uint64_t ticks) noexcept {
  if (!ensure(encoding::kTimeBaseWords)) return false;
  Word* to = cursor_;
  to[0] = encoding::kTimeBase;
  to[1] = base_ticks_ = ticks;
  clear_pending();
  commit(to + encoding::kTimeBaseWords);
  return true;
}

/// Ends the buffer of a thread that exits. Owning thread only.
void EventBuffer::release() noexcept {
  end(/*is_owner=*/true);
  const std::lock_guard lock(mutex_);
  if (is_usable() && chunk_ != discard_)
    recorder_.note_storage(status_of([&] { return recorder_.store_.release(chunk_); }));
  if (aside_.chunk != nullptr)
    recorder_.note_storage(status_of([&] { return recorder_.store_.release(aside_.chunk); }));
  aside_ = {};
  park();
  if (discard_ != nullptr) munmap(discard_, kFirstChunkBytes);
  discard_ = nullptr;
}

bool EventBuffer::keep(bool is_kept) noexcept {
  const std::lock_guard lock(mutex_);
  const bool was_kept = aside_.chunk == nullptr;
  if (is_kept == was_kept || is_ended_ || !is_usable()) return false;
  if (is_kept)
    take_back();
  else if (chunk_ != discard_)
    set_aside();
  return true;
}

/// Continues in private memory and keeps the current chunk for take_back(). Its mark says that the
/// thread's call is unknown.
void EventBuffer::set_aside() noexcept {
  const Aside mine{chunk_, cursor_, limit_, base_ticks_};
  trace::ChunkHeader* const rest = discard_chunk();
  if (rest == nullptr || !begin_chunk(rest)) {  // no memory: records are kept
    chunk_ = mine.chunk;
    cursor_ = mine.cursor;
    limit_ = mine.limit;
    base_ticks_ = mine.base_ticks;
    return;
  }
  mine.chunk->pending[0].words[0] = trace::kUnknownCall;
  aside_ = mine;
}

void EventBuffer::take_back() noexcept {
  (void)fold(*chunk_);
  const trace::PendingCall pending = chunk_->pending[0];
  const std::uint64_t other_base = base_ticks_;
  chunk_ = aside_.chunk;
  cursor_ = aside_.cursor;
  limit_ = aside_.limit;
  base_ticks_ = aside_.base_ticks;
  aside_ = {};
  const std::uint64_t entered = encoding::entry_ticks(pending.words[0], other_base);
  const bool is_in_call = encoding::is_region(pending.words[0]) &&
                          pending.words[0] != fold_decoder_.last_outer_word() &&
                          encoding::time_fits(entered, base_ticks_);
  chunk_->pending[0] = pending;
  chunk_->pending[0].words[0] = is_in_call ? encoding::entry_word(
                                                 entered, base_ticks_,
                                                 static_cast<RegionId>(pending.words[0] & 0xFFFF))
                                           : trace::kUnknownCall;
}

void EventBuffer::park() noexcept {
  chunk_ = &parked_;
  cursor_ = limit_ = nullptr;
}

/// Records the pending call if no record of it exists: the thread was ended inside of it. Returns
/// the number of calls added.
std::uint64_t EventBuffer::record_unreturned() noexcept {
  const Word* mark = chunk_->pending[0].words;
  if (!encoding::is_region(mark[0]) || mark[0] == fold_decoder_.last_outer_word()) return 0;
  if (!has_space(encoding::kBareWords + encoding::kShortWords)) {
    recorder_.count_loss(LossCause::kNoBuffer);
    return 0;
  }
  const Fact left = left_fact();
  Word* to = cursor_;
  to[0] = mark[0];
  to[1] = (mark[1] & Word{encoding::kWideComm} << 32) | Word{encoding::kHasFacts} << 56;
  to[2] = encoding::short_left();
  Call call;
  std::size_t fact_count = 0;
  (void)encoding::decode_words(to, encoding::kBareWords, base_ticks_, call, nullptr, fact_count);
  call.facts = {&left, 1};
  commit(to + encoding::kBareWords + encoding::kShortWords);
  (void)recorder_.guarded([&] { folded_.add(call); });
  return 1;
}

/// Adds the last call, whose facts are complete now, and the counts of damaged records. Returns the
/// number of calls added.
std::uint64_t EventBuffer::fold_rest() noexcept {
  Call call;
  const bool has_call = recorder_.guarded([&] { return fold_decoder_.flush(call); });
  if (has_call) (void)recorder_.guarded([&] { folded_.add(call); });
  recorder_.count_loss(LossCause::kUnknownRequest, fold_decoder_.unknown_request_count());
  recorder_.count_loss(LossCause::kDamaged,
                       fold_decoder_.damaged_count() + hook_decoder_.damaged_count());
  return has_call ? call.count : 0;
}

/// Records the end of the stream, which closes the open regions.
void EventBuffer::record_end() noexcept {
  const std::uint64_t now = recorder_.ticks();
  if (kind_ != trace::ChunkKind::kHooks || !has_space(1) || !encoding::time_fits(now, base_ticks_))
    return;
  *cursor_ = hook_words::timed(now, base_ticks_, hook_words::kEnd);
  commit(cursor_ + 1);
}

/// As end(), while records are not kept. Leaves the owner's fields unchanged: the owner may be
/// writing to memory that is not read any more.
void EventBuffer::end_aside() noexcept {
  (void)fold(*chunk_);
  (void)fold(*aside_.chunk);
  (void)fold_rest();
  aside_.chunk->pending[0] = {};
}

/// Ends the buffer. Any thread. Only the owner trims the chunk, because it may still be writing to
/// it.
void EventBuffer::end(bool is_owner) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_ended_ || !is_usable()) return;
  is_ended_ = true;
  if (aside_.chunk != nullptr) {
    if (!is_owner) return end_aside();
    take_back();
  }
  if (is_owner) record_end();
  std::uint64_t calls = fold(*chunk_) + fold_rest();
  if (is_owner && kind_ == trace::ChunkKind::kEvents) calls += record_unreturned();
  chunk_->pending[0] = {};
  if (chunk_ == discard_) {
    count_dropped(calls);
  } else if (is_owner) {
    (void)recorder_.guarded([&] { recorder_.store_.trim(chunk_); });
  }
}

}  // namespace megascope
