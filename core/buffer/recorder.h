#pragma once

#include "core/base/clock.h"
#include "core/base/scarce_memory.h"
#include "core/base/status.h"
#include "core/buffer/event_buffer.h"
#include "core/config/options.h"
#include "core/record/definitions.h"
#include "core/trace/chunk_store.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace megascope {

using config::BufferPolicy;
class Recorder;

/// Counts the time of its scope as overhead, once where a thread has several around each other.
class OwnTime {
 public:
  explicit OwnTime(Recorder& recorder) noexcept;
  ~OwnTime();
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

 private:
  static constinit thread_local bool t_is_counting;

  Recorder& recorder_;
  bool is_outermost_;
  std::uint64_t begin_;
};

struct RecorderOptions {
  std::string path;              ///< of the trace file to make; its folder exists
  std::uint64_t size_bytes = 0;  ///< bound of the file
  BufferPolicy policy = BufferPolicy::kStop;
  bool use_tsc = true;
  bool has_windows = false;       ///< records are kept now and then only (EventBuffer::keep)
  std::uint32_t local_ranks = 0;  ///< processes of the job on this node, which leave room for the
                                  ///< application together; 0: no room is left
};

/// Recording of one process: its trace file, its threads' buffers, its definitions and loss
/// counters. Any thread, except where said. Made once and never destroyed before the process ends,
/// because other threads may be in a call at any time.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);
  ~Recorder();

  /// Makes the trace file. After an error recording goes on without a file: only the profile is
  /// kept.
  Status open(const ProcessInfo& info);

  /// The calling thread's buffer, made at the first call. Never null while recording; nullptr after
  /// finish() or when memory ran out (counted).
  EventBuffer* buffer_of_this_thread() noexcept;
  /// The same without making one.
  const EventBuffer* calls_of_this_thread() const noexcept { return t_buffers.calls; }
  /// The same for what the program tells through hooks: a stream of its own of the same location.
  EventBuffer* hooks_of_this_thread() noexcept;

  // Of what follows nothing throws. Where memory runs out the loss is counted, and what returns a
  // bool returns false: the definition is not in the trace.

  bool define(const RegionDefinition& region) noexcept;
  bool define(const CommDefinition& comm) noexcept;
  bool define(const FileDefinition& file) noexcept;
  void rename_comm(CommId comm, const std::string& name) noexcept;
  /// Threads are known by gettid(). Of one that has recorded nothing yet the name waits for it;
  /// empty: it has none any more.
  void name_thread(std::int64_t system_thread_id, const std::string& name) noexcept;
  bool define(const WindowDefinition& window) noexcept;
  void rename_window(WinId window, const std::string& name) noexcept;
  bool define(const GroupDefinition& group) noexcept;
  bool define(const CounterDefinition& counter) noexcept;
  /// The name of tensors; ids are given in order of the calls, without holes.
  bool define_tensor(TensorId id, const std::string& name) noexcept;
  /// Where this process stands in a dimension of the parallel program.
  bool set_place(const ParallelIndex& parallel) noexcept;

  bool define(const CallSiteDefinition& site) noexcept;
  bool add(const ClockSample& sample) noexcept;
  /// MPI is called through it: kInterfaceC ….
  void note_interface(std::uint8_t interface) noexcept;
  /// The program called a procedure whose calls cannot be recorded: "mpi_send_f08_". Once a
  /// procedure.
  void note_unrecorded(const std::string& procedure) noexcept;
  /// From here on some messages may not be recorded, though others are.
  void note_message_gaps() noexcept;
  /// What is still in private memory is written to the file.
  void flush() noexcept;

  void count_loss(LossCause cause, std::uint64_t count = 1) noexcept;
  /// Time of ours outside of the calls.
  void add_overhead(std::uint64_t ticks) noexcept;
  std::uint64_t overhead_ticks() const noexcept {
    return header_->overhead_ticks.load(std::memory_order_relaxed);
  }
  std::uint64_t ticks() const noexcept { return clock::ticks(options_.use_tsc); }

  /// The first reason why records could no longer be stored; ok while they can.
  Status storage_status() const;
  /// Was the trace file made?
  bool has_storage() const noexcept { return has_storage_; }
  /// Is the reason that room is left for the application?
  bool is_out_of_room() const noexcept { return store_.is_out_of_room(); }
  /// Of the trace file: RecorderOptions::size_bytes, or what its file system in memory allows.
  std::uint64_t bound_bytes() const noexcept {
    return has_storage_ ? store_.bound_bytes() : options_.size_bytes;
  }

  /// Ends recording: the time, the end state, everything on disk. Threads may still hold buffers;
  /// what they record from now on may or may not be kept.
  Status finish(EndState state);

  /// The process is about to end by MPI_Abort: says so in the trace, brings everything to disk.
  void note_abort();

  /// What all records add up to, those that were dropped for want of room too; times in ticks.
  /// After finish().
  Profile profile() const;
  /// What the calls of the calling thread add up to so far; times in ticks. Costs as much as
  /// decoding one chunk. May throw bad_alloc.
  Profile profile_so_far();
  /// "MPI_Send"; empty: there is no such region.
  std::string region_name(RegionId region) const;
  ProcessInfo info() const;
  const ProcessDefinitions& definitions() const noexcept { return definitions_; }
  Losses losses() const noexcept;
  const std::string& path() const noexcept { return store_.path(); }
  /// Of the trace file. After finish().
  std::uint64_t used_bytes() const { return store_.used_bytes(); }
  const RecorderOptions& options() const noexcept { return options_; }

 private:
  friend class EventBuffer;

  trace::ChunkHeader* acquire_chunk(std::size_t bytes, std::size_t least_bytes) noexcept;
  void append_definition(std::span<const std::byte> bytes) noexcept;
  bool make_definition_room(std::size_t bytes) noexcept;
  template <class Definition>
  bool add(std::vector<Definition>& list, const Definition& definition) noexcept;
  /// Runs `work`; counts a loss and returns a default value where it throws.
  template <class Work>
  auto guarded(Work&& work) noexcept {
    return without_throwing(std::forward<Work>(work), [this] { count_loss(LossCause::kNoBuffer); });
  }
  void note_storage(const Status& status) noexcept;
  /// Why records that could not be stored are lost.
  LossCause cause_of_loss() const noexcept;
  void write_header(const ProcessInfo& info);
  /// What one thread has here.
  struct ThreadBuffers {
    EventBuffer* calls = nullptr;
    EventBuffer* hooks = nullptr;
    LocationId location = 0;
    bool has_location = false;
    int exit_rounds = 0;  ///< of destructors of thread-specific data
  };
  static thread_local ThreadBuffers t_buffers;

  EventBuffer* make_buffer(trace::ChunkKind kind) noexcept;
  bool define_this_thread();
  void close_this_thread();
  std::vector<EventBuffer*> all_buffers() const;
  static void on_thread_exit(void* buffer);

  RecorderOptions options_;
  trace::ChunkStore store_;
  trace::FileHeader fallback_header_{};  ///< counters when there is no file
  trace::FileHeader* header_ = &fallback_header_;
  /// Definitions, threads. Taken after a buffer's own lock, never before it. Recursive: a thread's
  /// first buffer is made, and may need the definitions, under it.
  mutable std::recursive_mutex mutex_;
  trace::ChunkHeader* definition_chunk_ = nullptr;
  ProcessDefinitions definitions_;
  std::map<std::int64_t, std::string> thread_names_;  ///< of threads that have recorded nothing
  std::vector<std::unique_ptr<EventBuffer>> buffers_;
  mutable std::mutex storage_mutex_;  ///< the last to be taken
  Status storage_status_;
  std::atomic<bool> has_storage_trouble_{false};
  std::atomic<bool> has_no_memory_{false};
  std::atomic<bool> is_recording_{false};
  bool has_storage_ = false;
  pid_t pid_ = 0;
};

}  // namespace megascope
