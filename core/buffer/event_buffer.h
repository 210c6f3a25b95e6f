#pragma once

#include "core/base/status.h"
#include "core/encoding/call_decoder.h"
#include "core/profile/profile.h"
#include "core/trace/chunk_store.h"
#include "core/trace/flight_chunks.h"
#include "core/trace/hook_decoder.h"
#include "core/trace/layout.h"
#include "core/trace/sealed_chunk.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace megascope {

class Recorder;

/// Records of one thread: MPI calls (kEvents) or annotations of the application (kHooks).
/// The thread writes into a mapped chunk of the process's trace file. When the chunk is full, it is
/// packed and written to the end of the file, its records are added to the profile, and the chunk
/// is reused.
/// Threads: one writer thread; another thread may end the recording. Nothing allocates, locks or
/// makes a system call, except make_space() once per chunk, whose time is counted as overhead.
class EventBuffer {
 public:
  using Word = encoding::Word;

  /// kind: kEvents or kHooks.
  EventBuffer(Recorder& recorder, LocationId location,
              trace::ChunkKind kind = trace::ChunkKind::kEvents);
  ~EventBuffer();
  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  /// Ensures space for `words` words at cursor(). words <= kMaxReserveWords. Returns false if
  /// nothing can be recorded; the loss is counted.
  bool ensure(std::size_t words) noexcept { return has_space(words) || make_space(words); }
  /// Returns whether the chunk has space for `words` words at cursor(). Has no side effects.
  bool has_space(std::size_t words) const noexcept { return cursor_ + words <= limit_; }
  Word* cursor() const noexcept { return cursor_; }
  /// Publishes the words up to `end`: they are part of the trace, also if the process is killed
  /// right after.
  void commit(Word* end) noexcept {
    cursor_ = end;
    const auto used = reinterpret_cast<const std::byte*>(end) -
                      reinterpret_cast<const std::byte*>(chunk_);
    chunk_->used_bytes.store(static_cast<std::uint64_t>(used), std::memory_order_release);
  }

  /// The call that the thread is in, for readers after a crash or a hang. Always valid.
  trace::PendingCall& pending() noexcept { return chunk_->pending[0]; }
  std::uint64_t base_ticks() const noexcept { return base_ticks_; }
  /// Marks that the thread's current call is unknown.
  void clear_pending() noexcept { pending().words[0] = trace::kUnknownCall; }
  /// Writes a new time base near `ticks`, so that `ticks` can be encoded. Returns false if there is
  /// no space.
  bool rebase(std::uint64_t ticks) noexcept;

  LocationId location() const noexcept { return location_; }
  /// Returns whether records must not refer to earlier ones, because those may have been dropped.
  bool is_lossy() const noexcept { return is_lossy_; }
  /// Returns whether anything can be recorded; false after memory ran out and after release().
  bool is_usable() const noexcept { return chunk_ != &parked_; }

  static constexpr std::size_t kMaxReserveWords = 512;

  /// Returns the profile of the thread's calls so far, with times in ticks. Call only on a buffer
  /// of MPI calls (kEvents), in the thread that owns it. Calls of full chunks are in the profile
  /// already; at most two chunks are decoded. May throw std::bad_alloc.
  Profile profile_so_far();

  /// Selects whether further records become part of the trace or are added to the profile only.
  /// Owning thread only. Returns whether the state changed; a change takes a lock. Records that are
  /// not kept are not counted as loss.
  bool keep(bool is_kept) noexcept;

 private:
  friend class Recorder;

  bool make_space(std::size_t words) noexcept;
  bool next_chunk() noexcept;
  bool begin_chunk(trace::ChunkHeader* chunk) noexcept;
  trace::ChunkHeader* replace_full(std::uint64_t calls) noexcept;
  trace::ChunkHeader* move_on(trace::ChunkHeader* to, std::uint64_t calls) noexcept;
  bool write_for_oldest(const trace::SealedChunk& sealed, std::uint64_t calls) noexcept;
  void note_kept(const trace::FlightChunks::Kept& chunk) noexcept;
  void drop_full(std::uint64_t calls) noexcept;
  Status release_kept(std::uint64_t calls) noexcept;
  trace::ChunkHeader* discard_chunk() noexcept;
  std::uint64_t fold(trace::ChunkHeader& chunk) noexcept;
  void define_for_fold();
  void fold_rest() noexcept;
  std::uint64_t record_unreturned() noexcept;
  void record_end() noexcept;
  void count_dropped(std::uint64_t calls) noexcept;
  void release() noexcept;
  void set_aside() noexcept;
  void take_back() noexcept;
  void park() noexcept;
  std::uint64_t end(bool is_owner) noexcept;
  void end_aside() noexcept;

  Word* cursor_ = nullptr;
  Word* limit_ = nullptr;  ///< end of the chunk
  trace::ChunkHeader* chunk_ = &parked_;
  std::uint64_t base_ticks_ = 0;
  LocationId location_;
  trace::ChunkKind kind_;
  bool is_lossy_ = false;
  bool lacks_descriptor_ = false;  ///< why the buffer has no chunk in the file

  Recorder& recorder_;
  trace::ChunkHeader parked_{};  ///< `chunk_` points to it while the buffer has no chunk; it has no
                                 ///< space for records
  trace::ChunkHeader*
      discard_ = nullptr;  ///< private memory whose records are added to the profile only
  /// The chunk of the trace that was in use when keep(false) was called. Recording continues in it
  /// after keep(true).
  struct Aside {
    trace::ChunkHeader* chunk = nullptr;
    Word* cursor = nullptr;
    Word* limit = nullptr;
    std::uint64_t base_ticks = 0;
  };
  Aside aside_;
  std::uint32_t sequence_ = 0;
  std::atomic<std::uint64_t> lost_{0};  ///< records that were dropped, by any thread
  trace::ChunkSealer sealer_;

  std::mutex mutex_;  ///< serialises a full chunk and the end of recording
  bool is_ended_ = false;
  Profile folded_;  ///< profile of all full chunks; after end(), profile of all records
  std::size_t defined_regions_ = 0;
  std::size_t defined_comms_ = 0;
  std::size_t defined_files_ = 0;
  encoding::CallDecoder fold_decoder_;
  trace::HookDecoder hook_decoder_;
};

}  // namespace megascope
