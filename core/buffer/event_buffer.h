#pragma once

#include "core/record/profile.h"
#include "core/trace/chunk_store.h"
#include "core/trace/decoder.h"
#include "core/trace/hook_decoder.h"
#include "core/trace/layout.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace megascope {

class Recorder;

/// Where one thread records calls, or what the program tells through hooks: a chunk of the
/// process's trace file, mapped, which is copied behind the others in the file when it is full and
/// begun anew, and what its records add up to. One writer thread; the end of recording may come
/// from another. Nothing in it allocates, locks or makes a system call, except `make_room` once per
/// chunk, whose time is counted as overhead.
class EventBuffer {
 public:
  using Word = encoding::Word;

  /// kind: kEvents or kHooks.
  EventBuffer(Recorder& recorder, LocationId location,
              trace::ChunkKind kind = trace::ChunkKind::kEvents);
  ~EventBuffer();
  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  /// Room for `words` words at cursor(), or false: nothing can be recorded, the loss is counted.
  /// words ≤ kMaxReserveWords.
  bool ensure(std::size_t words) noexcept { return has_room(words) || make_room(words); }
  /// Is there room without doing anything about it?
  bool has_room(std::size_t words) const noexcept { return cursor_ + words <= limit_; }
  Word* cursor() const noexcept { return cursor_; }
  /// Makes what was written up to `end` part of the trace.
  void commit(Word* end) noexcept {
    cursor_ = end;
    const auto used = reinterpret_cast<const std::byte*>(end) -
                      reinterpret_cast<const std::byte*>(chunk_);
    chunk_->used_bytes.store(static_cast<std::uint64_t>(used), std::memory_order_release);
  }

  /// What the thread is in, for whoever looks after a crash or a hang. Always valid.
  trace::PendingCall& pending() noexcept { return chunk_->pending[0]; }
  std::uint64_t base_ticks() const noexcept { return base_ticks_; }
  /// Nothing is known of what the thread is in.
  void clear_pending() noexcept { pending().words[0] = kNoCall; }
  /// Writes a new time base near `ticks`, after which it fits. False: no room.
  bool rebase(std::uint64_t ticks) noexcept;

  LocationId location() const noexcept { return location_; }
  /// Must every record stand for itself, because what it refers to may be gone?
  bool is_lossy() const noexcept { return is_lossy_; }
  /// Can anything be recorded? False after memory ran out, and when the thread's last moments have
  /// come.
  bool is_usable() const noexcept { return chunk_ != &parked_; }

  static constexpr std::size_t kMaxReserveWords = 512;

  /// Of the owning thread: what its calls add up to so far, times in ticks; of calls alone
  /// (kEvents). Decodes one chunk at most. May throw bad_alloc.
  Profile profile_so_far();

  /// Of the owning thread: are records from now on part of the trace, or do they only feed the
  /// profile? Costs a lock where that changes; returns whether it did. What is written while they
  /// are not is no loss.
  bool keep(bool is_kept) noexcept;

 private:
  friend class Recorder;

  static constexpr Word kNoCall = Word{1}
                                  << 16;  ///< a mark's first word: the thread goes on, in no call

  bool make_room(std::size_t words) noexcept;
  bool next_chunk() noexcept;
  bool begin_chunk(trace::ChunkHeader* chunk) noexcept;
  trace::ChunkHeader* replace_full() noexcept;
  trace::ChunkHeader* move_on(trace::ChunkHeader* to) noexcept;
  bool give_up_oldest() noexcept;
  trace::ChunkHeader* discard_chunk() noexcept;
  std::uint64_t fold(trace::ChunkHeader& chunk) noexcept;
  void define_for_fold();
  std::uint64_t fold_rest() noexcept;
  std::uint64_t record_unreturned() noexcept;
  void record_end() noexcept;
  void count_dropped(std::uint64_t calls) noexcept;
  void release() noexcept;
  void set_aside() noexcept;
  void take_back() noexcept;
  void park() noexcept;
  void end(bool is_owner) noexcept;
  void end_aside() noexcept;

  Word* cursor_ = nullptr;
  Word* limit_ = nullptr;  ///< the chunk's end
  trace::ChunkHeader* chunk_ = &parked_;
  std::uint64_t base_ticks_ = 0;
  LocationId location_;
  trace::ChunkKind kind_;
  bool is_lossy_ = false;

  Recorder& recorder_;
  trace::ChunkHeader parked_{};            ///< in place of a chunk, with no room
  trace::ChunkHeader* discard_ = nullptr;  ///< private memory whose records only feed the profile
  /// The chunk that goes on when records are kept again.
  struct Aside {
    trace::ChunkHeader* chunk = nullptr;
    Word* cursor = nullptr;
    Word* limit = nullptr;
    std::uint64_t base_ticks = 0;
  };
  Aside aside_;
  std::uint32_t sequence_ = 0;
  std::uint64_t lost_ = 0;
  struct Kept {
    trace::ChunkStore::Offset offset;
    std::size_t bytes;
    std::uint64_t calls;
  };
  std::deque<Kept> kept_;  ///< what may be given up, oldest first (policy flight)

  std::mutex mutex_;  ///< a full chunk and the end of recording
  bool is_ended_ = false;
  Profile folded_;  ///< of all full chunks; after end() of all records
  std::size_t defined_regions_ = 0;
  std::size_t defined_comms_ = 0;
  std::size_t defined_files_ = 0;
  trace::CallDecoder fold_decoder_;
  trace::HookDecoder hook_decoder_;
};

}  // namespace megascope
