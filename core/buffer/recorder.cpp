#include "core/buffer/recorder.h"

#include "core/base/clock.h"
#include "core/base/scarce_memory.h"
#include "core/trace/definition_codec.h"
#include "core/trace/process_header.h"

#include <algorithm>
#include <cstring>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace megascope {
namespace {

constexpr std::size_t kMaxThreadNames = 1U << 14;
constexpr std::size_t kDefinitionChunkBytes = std::size_t{64} << 10;

pthread_key_t g_thread_key;
bool g_has_thread_key = false;

}  // namespace

constinit thread_local Recorder::ThreadBuffers Recorder::t_buffers;

constinit thread_local bool OverheadTimer::t_is_counting = false;

OverheadTimer::OverheadTimer(Recorder& recorder) noexcept
    : recorder_(recorder),
      is_outermost_(!std::exchange(t_is_counting, true)),
      begin_(recorder.ticks()) {}

OverheadTimer::~OverheadTimer() {
  if (!is_outermost_) return;
  t_is_counting = false;
  recorder_.add_overhead(recorder_.ticks() - begin_);
}

Recorder::Recorder(RecorderOptions options) : options_(std::move(options)), pid_(getpid()) {}

Recorder::~Recorder() = default;

Status Recorder::open(const ProcessInfo& info) {
  definitions_.info = info;
  opened_ns_ = clock::monotonic_ns();
  const std::string directory = options_.path.substr(0, options_.path.rfind('/'));
  Status status = store_.create(options_.path,
                                options_.backing.value_or(trace::backing_for(directory)),
                                options_.size_bytes, options_.local_ranks);
  if (status.is_ok()) {
    header_ = store_.header();
    has_storage_ = true;
  } else {
    note_storage(status);
  }
  write_header(info);
  for (const trace::DefinitionBytes& property : trace::encode_properties(info))
    append_definition(property);
  if (!g_has_thread_key)
    g_has_thread_key = pthread_key_create(&g_thread_key, &Recorder::on_thread_exit) == 0;
  is_recording_.store(true, std::memory_order_release);
  return status;
}

void Recorder::write_header(const ProcessInfo& info) {
  const clock::Moment now = clock::measure_moment(options_.use_tsc);
  ProcessInfo& mine = definitions_.info;
  mine.clock.kind = options_.use_tsc ? ClockKind::kTsc : ClockKind::kMonotonic;
  mine.start_ticks = info.start_ticks != 0 ? std::min(info.start_ticks, now.ticks) : now.ticks;
  mine.clock.points = {info.clock.points.empty()
                           ? ClockPoint{now.ticks, now.monotonic_ns, now.realtime_ns}
                           : info.clock.points.front()};
  trace::begin_header(*header_, mine);
}

EventBuffer* Recorder::buffer_of_this_thread() noexcept {
  EventBuffer*& mine = t_buffers.calls;
  if (mine == nullptr) mine = make_buffer(trace::ChunkKind::kEvents);
  return mine != nullptr && mine->is_usable() ? mine : nullptr;
}

EventBuffer* Recorder::hooks_of_this_thread() noexcept {
  EventBuffer*& mine = t_buffers.hooks;
  if (mine == nullptr) mine = make_buffer(trace::ChunkKind::kHooks);
  return mine != nullptr && mine->is_usable() ? mine : nullptr;
}

EventBuffer* Recorder::make_buffer(trace::ChunkKind kind) noexcept {
  if (!is_recording_.load(std::memory_order_acquire)) return nullptr;
  return guarded([&]() -> EventBuffer* {
    const std::lock_guard lock(mutex_);
    if (!t_buffers.has_location && !define_this_thread()) return nullptr;
    make_space(buffers_);  // reserve before the buffer takes a chunk
    buffers_.push_back(std::make_unique<EventBuffer>(*this, t_buffers.location, kind));
    if (g_has_thread_key) pthread_setspecific(g_thread_key, this);
    return buffers_.back().get();
  });
}

/// Returns false if memory ran out.
bool Recorder::define_this_thread() {
  LocationDefinition location;
  location.id = static_cast<LocationId>(definitions_.locations.size());
  location.system_thread_id = gettid();
  location.is_main = location.id == 0;
  location.name = location.is_main ? "main thread" : "thread " + std::to_string(location.id);
  if (const auto named = thread_names_.extract(location.system_thread_id))
    location.name = named.mapped();
  if (!add(definitions_.locations, location)) return false;
  t_buffers.location = location.id;
  t_buffers.has_location = true;
  return true;
}

/// Destructor of thread-specific data. The application's own destructors may call MPI, in any order
/// relative to this one, so it re-registers itself and acts in the last round but one
/// (ThreadSanitizer is gone in the last).
void Recorder::on_thread_exit(void* recorder) {
  auto* mine = static_cast<Recorder*>(recorder);
  if (++t_buffers.exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
      pthread_setspecific(g_thread_key, recorder) == 0)
    return;
  if (mine->pid_ == getpid()) mine->close_this_thread();
}

/// Closes the buffers of an exiting thread. A buffer that a later destructor creates belongs to the
/// same location.
void Recorder::close_this_thread() {
  const bool is_open = is_recording_.load(std::memory_order_acquire);
  if (is_open) {
    const std::lock_guard lock(mutex_);
    definitions_.locations[t_buffers.location].has_ended = true;
  }
  if (is_open && t_buffers.calls != nullptr) t_buffers.calls->release();
  if (is_open && t_buffers.hooks != nullptr) t_buffers.hooks->release();
}

/// Returns the buffers without holding mutex_: ending a buffer takes its own mutex first, then
/// mutex_.
std::vector<EventBuffer*> Recorder::all_buffers() const {
  const std::lock_guard lock(mutex_);
  std::vector<EventBuffer*> all;
  for (const auto& buffer : buffers_) all.push_back(buffer.get());
  return all;
}

trace::ChunkHeader* Recorder::acquire_chunk(std::size_t bytes, std::size_t min_bytes) noexcept {
  if (!has_storage_) return nullptr;
  trace::ChunkHeader* chunk = nullptr;
  note_storage(status_of([&] {
    Status status;
    chunk = store_.acquire(bytes, min_bytes, status);
    return status;
  }));
  return chunk;
}

/// Adds a definition to the trace and to the list in memory; to neither if memory runs out.
template <class Definition>
bool Recorder::add(std::vector<Definition>& list, const Definition& definition) noexcept {
  return guarded([&] {
    const trace::DefinitionBytes bytes = trace::encode(definition);
    const std::lock_guard lock(mutex_);
    list.push_back(definition);
    append_definition(bytes);
    return true;
  });
}

bool Recorder::define(const RegionDefinition& region) noexcept {
  return add(definitions_.regions, region);
}
bool Recorder::define(const CommDefinition& comm) noexcept { return add(definitions_.comms, comm); }
bool Recorder::define(const FileDefinition& file) noexcept { return add(definitions_.files, file); }
bool Recorder::define(const WindowDefinition& window) noexcept {
  return add(definitions_.windows, window);
}
bool Recorder::define(const GroupDefinition& group) noexcept {
  return add(definitions_.groups, group);
}
bool Recorder::define(const CounterDefinition& counter) noexcept {
  return add(definitions_.counters, counter);
}
bool Recorder::define(const CallSiteDefinition& site) noexcept {
  return add(definitions_.call_sites, site);
}
bool Recorder::add(const ClockSample& sample) noexcept {
  return add(definitions_.info.clock.samples, sample);
}

void Recorder::rename_comm(CommId comm, const std::string& name) noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    if (comm >= definitions_.comms.size()) return;
    append_definition(trace::encode_comm_name(comm, name));
    definitions_.comms[comm].name = name;
  });
}

void Recorder::name_thread(std::int64_t system_thread_id, const std::string& name) noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    auto& all = definitions_.locations;
    const auto last = std::ranges::find(all.rbegin(), all.rend(), system_thread_id,
                                        &LocationDefinition::system_thread_id);
    if (last == all.rend() ||
        last->has_ended) {  // the system reuses the thread ids of ended threads
      if (thread_names_.size() < kMaxThreadNames) thread_names_[system_thread_id] = name;
      return;
    }
    append_definition(trace::encode_location_name(last->id, name));
    last->name = name;
  });
}

void Recorder::rename_window(WinId window, const std::string& name) noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    if (window >= definitions_.windows.size()) return;
    append_definition(trace::encode_window_name(window, name));
    definitions_.windows[window].name = name;
  });
}

bool Recorder::define_tensor(TensorId id, const std::string& name) noexcept {
  return guarded([&] {
    const trace::DefinitionBytes bytes = trace::encode_tensor(id, name);
    const std::lock_guard lock(mutex_);
    definitions_.tensors.push_back(name);
    append_definition(bytes);
    return true;
  });
}

bool Recorder::set_place(const ParallelIndex& parallel) noexcept {
  return guarded([&] {
    const std::lock_guard lock(mutex_);
    set_parallel(definitions_.info.parallel, parallel);
    append_definition(trace::encode_property(trace::kPropertyParallel, to_text(parallel)));
    return true;
  });
}

void Recorder::note_interface(std::uint8_t interface) noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    if ((definitions_.info.interfaces & interface) != 0) return;
    const char* const name = interface == kInterfaceC         ? "c"
                             : interface == kInterfaceFortran ? "fortran"
                                                              : "fortran08";
    append_definition(trace::encode_property(trace::kPropertyInterface, name));
    definitions_.info.interfaces = static_cast<std::uint8_t>(definitions_.info.interfaces |
                                                             interface);
  });
}

void Recorder::note_unrecorded(const std::string& procedure) noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    definitions_.info.unrecorded.push_back(procedure);
    append_definition(trace::encode_property(trace::kPropertyUnrecorded, procedure));
  });
}

void Recorder::note_message_gaps() noexcept {
  (void)guarded([&] {
    const std::lock_guard lock(mutex_);
    if (definitions_.info.has_message_gaps) return;
    definitions_.info.has_message_gaps = true;
    append_definition(trace::encode_property(trace::kPropertyMessageGaps, "1"));
  });
}

void Recorder::flush() noexcept {
  if (has_storage_) note_storage(status_of([&] { return store_.flush(); }));
}

bool Recorder::make_definition_space(std::size_t bytes) noexcept {
  if (definition_chunk_ != nullptr) {
    const std::uint64_t used = definition_chunk_->used_bytes.load(std::memory_order_relaxed);
    if (used + bytes <= definition_chunk_->chunk_bytes) return true;
    note_storage(status_of([&] { return store_.release(definition_chunk_); }));
    definition_chunk_ = nullptr;
  }
  const std::size_t wanted = trace::chunk_space(
      std::max(kDefinitionChunkBytes, bytes + sizeof(trace::ChunkHeader)));
  note_storage(status_of([&] {
    Status status;
    definition_chunk_ = store_.acquire(wanted, wanted, status,
                                       trace::ChunkStore::Use::kDefinitions);
    return status;
  }));
  if (definition_chunk_ == nullptr) return false;
  definition_chunk_->kind = trace::ChunkKind::kDefinitions;
  return true;
}

void Recorder::append_definition(std::span<const std::byte> bytes) noexcept {
  if (!has_storage_) return;
  if (!make_definition_space(bytes.size())) return count_loss(cause_of_loss());
  const std::uint64_t used = definition_chunk_->used_bytes.load(std::memory_order_relaxed);
  std::memcpy(reinterpret_cast<std::byte*>(definition_chunk_) + used, bytes.data(), bytes.size());
  definition_chunk_->used_bytes.store(used + bytes.size(), std::memory_order_release);
}

void Recorder::note_storage(const Status& status) noexcept {
  if (status.is_ok()) return;
  if (!is_passing(status)) {
    const bool is_buffer = status.message() == no_memory().message() ||
                           store_.is_lack_of_descriptors(status);
    (is_buffer ? has_no_memory_ : has_storage_trouble_).store(true, std::memory_order_relaxed);
  }
  const std::lock_guard lock(storage_mutex_);
  without_throwing([&] { storage_status_.update(status); },
                   [this] { storage_status_ = no_memory(); });
}

LossCause Recorder::cause_of_loss() const noexcept {
  if (has_storage_trouble_.load(std::memory_order_relaxed)) return LossCause::kStorage;
  return has_no_memory_.load(std::memory_order_relaxed) ? LossCause::kNoBuffer
                                                        : LossCause::kBufferFull;
}

Status Recorder::storage_status() const {
  const std::lock_guard lock(storage_mutex_);
  return storage_status_;
}

void Recorder::count_loss(LossCause cause, std::uint64_t count) noexcept {
  header_->losses[static_cast<std::size_t>(cause)].fetch_add(count, std::memory_order_relaxed);
}

void Recorder::add_overhead(std::uint64_t ticks) noexcept {
  header_->overhead_ticks.fetch_add(ticks, std::memory_order_relaxed);
}

Losses Recorder::losses() const noexcept {
  Losses losses{};
  for (std::size_t i = 0; i < kLossCauseCount; ++i)
    losses[i] = header_->losses[i].load(std::memory_order_relaxed);
  return losses;
}

Status Recorder::finish(EndState state) {
  is_recording_.store(false, std::memory_order_release);
  for (EventBuffer* buffer : all_buffers())
    buffer->end(buffer == t_buffers.calls || buffer == t_buffers.hooks);
  const std::lock_guard lock(mutex_);
  if (definition_chunk_ != nullptr) store_.trim(definition_chunk_);
  const clock::Moment now = clock::measure_moment(options_.use_tsc);
  trace::end_header(*header_, state, {now.ticks, now.monotonic_ns, now.realtime_ns});
  definitions_.info.end_ticks = now.ticks;
  definitions_.info.end_state = state;
  definitions_.info.overhead_ticks = header_->overhead_ticks.load(std::memory_order_relaxed);
  definitions_.info.clock.points.push_back({now.ticks, now.monotonic_ns, now.realtime_ns});
  definitions_.losses = losses();
  Status status = has_storage_ ? store_.flush() : Status::ok();
  status.update(storage_status());
  return status;
}

void Recorder::note_abort() {
  header_->end_state = static_cast<std::uint32_t>(EndState::kAborted);
  if (has_storage_) (void)store_.flush();
}

Profile Recorder::profile_so_far() {
  EventBuffer* const mine = t_buffers.calls;
  return mine == nullptr ? Profile() : mine->profile_so_far();
}

std::string Recorder::region_name(RegionId region) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(definitions_.regions, region, &RegionDefinition::id);
  return found == definitions_.regions.end() ? std::string() : found->name;
}

ProcessInfo Recorder::info() const {
  const std::lock_guard lock(mutex_);
  return definitions_.info;
}

Profile Recorder::profile() const {
  Profile sum;
  {
    const std::lock_guard lock(mutex_);
    sum.define(definitions_);
  }
  for (EventBuffer* buffer : all_buffers()) {
    const std::lock_guard lock(buffer->mutex_);
    sum.merge(buffer->folded_);
  }
  return sum;
}

}  // namespace megascope
