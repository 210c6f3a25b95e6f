#pragma once

#include "core/base/clock.h"
#include "core/base/scarce_memory.h"
#include "core/base/status.h"
#include "core/buffer/buffer_use.h"
#include "core/buffer/event_buffer.h"
#include "core/config/options.h"
#include "core/record/definitions.h"
#include "core/trace/chunk_store.h"
#include "core/trace/flight_chunks.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace megascope {

using config::BufferPolicy;
class Recorder;

/// Adds the time of its scope to the measurement overhead. In nested scopes of one thread only the
/// outermost counts.
class OverheadTimer {
 public:
  explicit OverheadTimer(Recorder& recorder) noexcept;
  ~OverheadTimer();
  OverheadTimer(const OverheadTimer&) = delete;
  OverheadTimer& operator=(const OverheadTimer&) = delete;

 private:
  static constinit thread_local bool t_is_counting;

  Recorder& recorder_;
  bool is_outermost_;
  std::uint64_t begin_;
};

struct RecorderOptions {
  std::string path;              ///< path of the trace file to create; its directory exists
  std::uint64_t size_bytes = 0;  ///< largest size of the file
  BufferPolicy policy = BufferPolicy::kStop;
  bool use_tsc = true;
  bool has_windows = false;       ///< records are kept in some steps only (EventBuffer::keep)
  std::uint32_t local_ranks = 0;  ///< processes of the job on this node, among which the space
                                  ///< reserved for the application is divided; 0: reserve none
  /// Called by threads that filled a chunk, one at a time, when the trace has at least a tenth of
  /// its largest size, until it returns true or nothing is left. The thread is in an MPI call or a
  /// hook. Empty: not called.
  std::function<bool(const BufferUse&)> on_tenth_used{};
  std::optional<trace::Backing> backing{};  ///< instead of trace::backing_for(), for tests
};

/// Recording of one process: its trace file, the buffers of its threads, its definitions and loss
/// counters. Any thread, except where stated. Created once and not destroyed before the process
/// ends, because other threads may be in a call at any time.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);
  ~Recorder();

  /// Creates the trace file. After an error, recording continues without a file and only the
  /// profile is kept.
  Status open(const ProcessInfo& info);

  /// Returns the calling thread's buffer for MPI calls, created at the first call. Not null while
  /// recording; nullptr after finish() or if memory ran out (counted).
  EventBuffer* buffer_of_this_thread() noexcept;
  /// Returns the calling thread's buffer for MPI calls if it exists, else nullptr.
  const EventBuffer* calls_of_this_thread() const noexcept { return t_buffers.calls; }
  /// Returns the calling thread's buffer for annotations, created at the first call; it is a second
  /// stream of the same location. nullptr after finish() or if memory ran out (counted).
  EventBuffer* hooks_of_this_thread() noexcept;

  // The following functions do not throw. If memory runs out, the loss is counted; functions that
  // return bool return false, and the definition is not in the trace.

  bool define(const RegionDefinition& region) noexcept;
  bool define(const CommDefinition& comm) noexcept;
  bool define(const FileDefinition& file) noexcept;
  void rename_comm(CommId comm, const std::string& name) noexcept;
  /// Names the thread with this gettid(). If it has not recorded anything yet, the name is stored
  /// until it does. An empty name removes the name.
  void name_thread(std::int64_t system_thread_id, const std::string& name) noexcept;
  bool define(const WindowDefinition& window) noexcept;
  void rename_window(WinId window, const std::string& name) noexcept;
  bool define(const GroupDefinition& group) noexcept;
  bool define(const CounterDefinition& counter) noexcept;
  /// Defines the name of a tensor. Ids must be passed in increasing order, without gaps.
  bool define_tensor(TensorId id, const std::string& name) noexcept;
  /// Sets the grid coordinate of this process in one dimension of the parallel program.
  bool set_place(const ParallelIndex& parallel) noexcept;

  bool define(const CallSiteDefinition& site) noexcept;
  bool add(const ClockSample& sample) noexcept;
  /// Notes that the application calls MPI through this language interface. interface: kInterfaceC,
  /// kInterfaceFortran or kInterfaceFortran08.
  void note_interface(std::uint8_t interface) noexcept;
  /// Notes a procedure that the application called and that cannot be recorded, such as
  /// "mpi_send_f08_". Once for each procedure.
  void note_unrecorded(const std::string& procedure) noexcept;
  /// Notes in the trace that some messages may be missing, because they were not recorded.
  void note_message_gaps() noexcept;
  /// Writes chunks that are still in private memory to the file.
  void flush() noexcept;

  void count_loss(LossCause cause, std::uint64_t count = 1) noexcept;
  /// Adds measurement overhead outside of MPI calls.
  void add_overhead(std::uint64_t ticks) noexcept;
  std::uint64_t overhead_ticks() const noexcept {
    return header_->overhead_ticks.load(std::memory_order_relaxed);
  }
  std::uint64_t ticks() const noexcept { return clock::ticks(options_.use_tsc); }

  /// Returns the first reason why records could not be stored; ok if there is none.
  Status storage_status() const;
  /// Returns whether the trace file was created.
  bool has_storage() const noexcept { return has_storage_; }
  /// Returns whether a thread stopped recording to the file because of an error.
  bool has_stopped() const noexcept { return has_stopped_.load(std::memory_order_relaxed); }
  /// Returns the largest size of the trace file: RecorderOptions::size_bytes, or what a file system
  /// in memory allows.
  std::uint64_t bound_bytes() const noexcept {
    return has_storage_ ? store_.bound_bytes() : options_.size_bytes;
  }

  /// Ends recording: stores the time and the end state and flushes the file. Threads may still hold
  /// buffers; what they record later may be lost.
  Status finish(EndState state);

  /// Marks the trace as ended by MPI_Abort and flushes it. Call before the process ends.
  void note_abort();

  /// Returns the profile of all records, including those that were dropped from the trace; times in
  /// ticks. Call after finish().
  Profile profile() const;
  /// Returns the profile of the calling thread's MPI calls so far; times in ticks. Costs the
  /// decoding of one chunk. May throw std::bad_alloc.
  Profile profile_so_far();
  /// Returns the name of a region, such as "MPI_Send"; empty if it is not defined.
  std::string region_name(RegionId region) const;
  ProcessInfo info() const;
  const ProcessDefinitions& definitions() const noexcept { return definitions_; }
  Losses losses() const noexcept;
  const std::string& path() const noexcept { return store_.path(); }
  /// Returns the size of the trace file. Call after finish().
  std::uint64_t used_bytes() const { return store_.used_bytes(); }
  /// Returns the size that the trace file would have without packing. Call after finish().
  std::uint64_t unpacked_bytes() const {
    return store_.used_bytes() + saved_bytes_.load(std::memory_order_relaxed);
  }
  const RecorderOptions& options() const noexcept { return options_; }

 private:
  friend class EventBuffer;

  trace::ChunkHeader* acquire_chunk(std::size_t bytes, std::size_t min_bytes) noexcept;
  void append_definition(std::span<const std::byte> bytes) noexcept;
  bool make_definition_space(std::size_t bytes) noexcept;
  template <class Definition>
  bool add(std::vector<Definition>& list, const Definition& definition) noexcept;
  /// Runs `work`. If it throws, counts a loss and returns a default value.
  template <class Work>
  auto guarded(Work&& work) noexcept {
    return without_throwing(std::forward<Work>(work), [this] { count_loss(LossCause::kNoBuffer); });
  }
  trace::ChunkHeader* first_chunk(bool& lacks_descriptor) noexcept;
  trace::ChunkHeader* first_chunk_for_oldest(Status& status) noexcept;
  bool drop_oldest(Status& status) noexcept;
  void note_storage(const Status& status) noexcept;
  /// Returns whether an error of policy flight concerns one chunk only, and recording goes on.
  bool is_passing(const Status& status) const noexcept;
  void note_stop(const Status& status) noexcept {
    if (!status.is_ok()) has_stopped_.store(true, std::memory_order_relaxed);
  }
  /// Calls RecorderOptions::on_tenth_used if it is time.
  void note_use() noexcept;
  bool wants_use() const noexcept {
    return options_.on_tenth_used && !is_use_told_.load(std::memory_order_relaxed);
  }
  void note_full(const trace::ChunkHeader& chunk, std::size_t packed_bytes) noexcept;
  BufferUse use_now() const;
  /// Returns the cause under which records that cannot be stored are counted.
  LossCause cause_of_loss() const noexcept;
  void write_header(const ProcessInfo& info);
  /// State of one thread in this recorder.
  struct ThreadBuffers {
    EventBuffer* calls = nullptr;
    EventBuffer* hooks = nullptr;
    LocationId location = 0;
    bool has_location = false;
    int exit_rounds = 0;  ///< rounds of destructors of thread-specific data so far
  };
  static thread_local ThreadBuffers t_buffers;

  EventBuffer* make_buffer(trace::ChunkKind kind) noexcept;
  bool define_this_thread();
  void close_this_thread();
  std::vector<EventBuffer*> all_buffers() const;
  static void on_thread_exit(void* buffer);

  RecorderOptions options_;
  trace::ChunkStore store_;
  trace::FlightChunks flight_;
  trace::FileHeader fallback_header_{};  ///< holds the counters if there is no file
  trace::FileHeader* header_ = &fallback_header_;
  /// Guards definitions, threads and the order in which chunks are dropped. Lock order: after a
  /// buffer's own mutex. Recursive: creating a thread's first buffer may need the definitions.
  mutable std::recursive_mutex mutex_;
  trace::ChunkHeader* definition_chunk_ = nullptr;
  ProcessDefinitions definitions_;
  std::map<std::int64_t, std::string>
      thread_names_;  ///< names of threads that have not recorded anything
  std::vector<std::unique_ptr<EventBuffer>> buffers_;
  mutable std::mutex storage_mutex_;  ///< last in the lock order
  Status storage_status_;
  std::atomic<bool> has_storage_trouble_{false};
  std::atomic<bool> has_no_memory_{false};
  std::atomic<bool> is_recording_{false};
  std::atomic<bool> has_stopped_{false};
  std::atomic<bool> is_use_told_{false};        ///< or a thread is about to
  std::atomic<std::uint64_t> full_bytes_{0};    ///< of full chunks, as recorded
  std::atomic<std::uint64_t> packed_bytes_{0};  ///< of the same chunks, packed
  std::atomic<std::uint64_t> saved_bytes_{0};   ///< by packing the chunks in the file
  std::uint64_t opened_ns_ = 0;                 ///< clock::monotonic_ns() of open()
  bool has_storage_ = false;
  pid_t pid_ = 0;
};

}  // namespace megascope
