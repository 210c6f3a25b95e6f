#include "core/buffer/event_buffer.h"

#include "core/base/clock.h"
#include "core/buffer/chunk_sizes.h"
#include "core/buffer/recorder.h"
#include "core/encoding/decode_words.h"
#include "core/encoding/hook_words.h"
#include "core/record/make_fact.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace megascope {
EventBuffer::EventBuffer(Recorder& recorder, LocationId location, trace::ChunkKind kind)
    : location_(location), kind_(kind), recorder_(recorder) {
  is_lossy_ = recorder.options().policy == BufferPolicy::kFlight || recorder.options().has_windows;
  folded_.set_world_rank(recorder.definitions_.info.world_rank);
  trace::ChunkHeader* first = recorder.first_chunk(lacks_descriptor_);
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
  chunk->location = location_;
  chunk->sequence = chunk == discard_ ? sequence_ : sequence_++;
  chunk->lost_before = lost_.load(std::memory_order_relaxed);
  chunk->moment_ticks = now.ticks;
  chunk->moment_monotonic_ns = now.monotonic_ns;
  chunk->moment_realtime_ns = now.realtime_ns;
  chunk->base_ticks = base_ticks_ = now.ticks;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  chunk->kind = kind_;  // in space that was free the chunk has been no chunk until now
  std::atomic_signal_fence(std::memory_order_seq_cst);
  chunk->pending[0] = pending;
  cursor_ = trace::first_word(chunk);
  limit_ = reinterpret_cast<Word*>(reinterpret_cast<std::byte*>(chunk) + chunk->chunk_bytes);
  chunk_ = chunk;
  return true;
}

void EventBuffer::count_dropped(std::uint64_t calls) noexcept {
  lost_.fetch_add(calls, std::memory_order_relaxed);
  recorder_.count_loss(lacks_descriptor_ ? LossCause::kNoBuffer : recorder_.cause_of_loss(), calls);
}

/// Adds the records of a chunk to the profile. Returns the number of calls that begin in it: the
/// last one is counted although it is added later, because its facts may continue in the next
/// chunk.
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
      const std::uint64_t begun_before = fold_decoder_.held_calls();
      fold_decoder_.begin_chunk(words, chunk.base_ticks);
      count = fold_decoder_.add_all_to(folded_) + fold_decoder_.held_calls() - begun_before;
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
  const std::uint64_t calls = end(/*is_owner=*/true);
  const std::lock_guard lock(mutex_);
  if (is_usable() && chunk_ != discard_) {
    if (const Status status = release_kept(calls); !status.is_ok()) {
      recorder_.note_storage(status);
      recorder_.is_passing(status) ? drop_full(calls) : count_dropped(calls);
    }
  }
  if (aside_.chunk != nullptr)
    recorder_.note_storage(status_of([&] { return recorder_.store_.release(aside_.chunk); }));
  aside_ = {};
  park();
  sealer_.release();
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

/// Adds the last call, whose facts are complete now, and the counts of damaged records.
void EventBuffer::fold_rest() noexcept {
  Call call;
  const bool has_call = recorder_.guarded([&] { return fold_decoder_.flush(call); });
  if (has_call) (void)recorder_.guarded([&] { folded_.add(call); });
  recorder_.count_loss(LossCause::kUnknownRequest, fold_decoder_.unknown_request_count());
  recorder_.count_loss(LossCause::kDamaged,
                       fold_decoder_.damaged_count() + hook_decoder_.damaged_count());
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
  fold_rest();
  aside_.chunk->pending[0] = {};
}

/// Ends the buffer. Any thread. Only the owner trims the chunk, because it may still be writing to
/// it. Returns the number of calls in the chunk; 0 if the buffer had ended or is not the owner's.
std::uint64_t EventBuffer::end(bool is_owner) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_ended_ || !is_usable()) return 0;
  is_ended_ = true;
  if (aside_.chunk != nullptr) {
    if (!is_owner) {
      end_aside();
      return 0;
    }
    take_back();
  }
  if (is_owner) record_end();
  std::uint64_t calls = fold(*chunk_);
  fold_rest();
  if (is_owner && kind_ == trace::ChunkKind::kEvents) calls += record_unreturned();
  chunk_->pending[0] = {};
  if (chunk_ == discard_) {
    count_dropped(calls);
  } else if (is_owner) {
    (void)recorder_.guarded([&] { recorder_.store_.trim(chunk_); });
  }
  return calls;
}

}  // namespace megascope
