#include "mpi_layer/calls/thread.h"

#include "core/base/wiped_memory.h"
#include "core/hooks/hooks.h"
#include "mpi_layer/calls/no_memory.h"
#include "mpi_layer/calls/progress_ticks.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/table/selection.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <mutex>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace megascope::mpi {
namespace {

MpiThread g_closed_thread{};

pid_t g_pid = 0;
std::mutex g_threads_mutex;
std::vector<MpiThread*> g_threads;
std::atomic<std::uint8_t> g_gate{0};

struct CodeRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};
/// Code ranges of the objects loaded at a certain `load_count`.
struct MpiCode {
  unsigned long long load_count = 0;
  std::vector<CodeRange> ranges;
};
std::atomic<const MpiCode*> g_mpi_code{
    nullptr};  // replaced as a whole and never freed: other threads may be reading it

constexpr std::uint32_t kInitialArrayCapacity = 256;
constexpr std::uint32_t kInitialStagedCapacity = 1024;

MpiThread* make_thread(Recorder& recorder) noexcept {
  EventBuffer* buffer = recorder.buffer_of_this_thread();
  auto* thread = static_cast<MpiThread*>(buffer != nullptr ? fork_wiped_memory(sizeof(MpiThread))
                                                           : nullptr);
  if (thread == nullptr) return nullptr;
  thread->buffer = buffer;
  thread->use_tsc = recorder.options().use_tsc;
  begin_progress_ticks(*thread);
  thread->staged = static_cast<encoding::Word*>(
      std::malloc(kInitialStagedCapacity * sizeof(encoding::Word)));
  thread->staged_capacity = thread->staged != nullptr ? kInitialStagedCapacity : 0;
  thread->is_initialized = true;
  const std::lock_guard lock(g_threads_mutex);
  const bool is_noted = or_nothing([thread] { return g_threads.push_back(thread), true; });
  return is_noted ? thread : nullptr;  // without an entry its gate could not be closed
}

bool is_mpi_or_us(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return is_mpi_object(name) || name.starts_with("libmegascope");
}

int collect_code(dl_phdr_info* info, std::size_t, void* code) {
  static_cast<MpiCode*>(code)->load_count = info->dlpi_adds;
  if (info->dlpi_name == nullptr || !is_mpi_or_us(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    auto& ranges = static_cast<MpiCode*>(code)->ranges;
    or_nothing([&] {
      ranges.push_back({begin, begin + segment.p_memsz});
    });  // nothing may be thrown through the loader
  }
  return 0;
}

int read_load_count(dl_phdr_info* info, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;
}

bool is_in(const MpiCode& code, std::uintptr_t address) {
  return std::any_of(code.ranges.begin(), code.ranges.end(), [&](const CodeRange& range) {
    return address >= range.begin && address < range.end;
  });
}

}  // namespace

constinit std::atomic<Recorder*> g_recorder{nullptr};
bool g_is_multithreaded = false;
constinit thread_local MpiThread* t_thread = &g_closed_thread;

void open_recording(Recorder& recorder, bool is_multithreaded) {
  g_pid = getpid();
  g_is_multithreaded = is_multithreaded;
  g_gate.store(kRecords | kTracking, std::memory_order_relaxed);
  g_recorder.store(&recorder, std::memory_order_release);
  hooks::set_window_follower(&follow_window);
}

void follow_window(bool) noexcept {
  const std::lock_guard lock(g_threads_mutex);
  for (MpiThread* thread : g_threads) {
    for (std::uint8_t& of_interface : thread->gate)
      std::atomic_ref(of_interface).store(0, std::memory_order_relaxed);
  }
}

bool is_forked_child() noexcept { return g_pid != 0 && getpid() != g_pid; }

void close_recording() noexcept {
  g_recorder.store(nullptr, std::memory_order_release);
  set_gates(0);
}

void set_gates(std::uint8_t gate) noexcept {
  const std::lock_guard lock(g_threads_mutex);
  g_gate.store(gate, std::memory_order_relaxed);
  for (MpiThread* thread : g_threads) {
    for (std::uint8_t& of_interface : thread->gate) {
      if (of_interface != 0 || gate == 0)
        std::atomic_ref(of_interface).store(gate, std::memory_order_relaxed);
    }
  }
}

namespace {

/// Moves the thread's records to or from the trace (hooks::is_kept) and opens its gate. Returns the
/// gate.
std::uint8_t open_gate(MpiThread& thread, unsigned index, bool was_closed_to_read) noexcept {
  if (!was_closed_to_read) thread.run.fn = Fn::kNone;  // coalesced polls belong to one window
  for (;;) {
    const bool is_kept = hooks::is_kept();
    if (thread.buffer->keep(is_kept)) thread.run.fn = Fn::kNone;
    const std::lock_guard lock(g_threads_mutex);
    if (is_kept != hooks::is_kept())
      continue;  // changed meanwhile, and the gate was closed for it before this point
    const std::uint8_t gate = g_gate.load(std::memory_order_relaxed);
    std::atomic_ref(thread.gate[index]).store(gate, std::memory_order_relaxed);
    return gate;
  }
}

}  // namespace

bool enter_slow_path(Interface interface, std::uint8_t selected) noexcept {
  Recorder* active = recorder();
  if (active == nullptr) return false;
  MpiThread* thread = t_thread;
  if (thread == &g_closed_thread) {
    if (is_forked_child()) return false;
    thread = make_thread(*active);
    if (thread == nullptr) return false;
    t_thread = thread;
  }
  if (thread->buffer == nullptr || !thread->buffer->is_usable())
    return false;  // a forked child, or memory ran out
  const bool was_closed_to_read = thread->reads_at_entry;
  if (was_closed_to_read) read_at_entry(*thread);
  const auto index = static_cast<unsigned>(interface);
  std::uint8_t gate = std::atomic_ref(thread->gate[index]).load(std::memory_order_relaxed);
  if (gate == 0) {
    const auto bit = static_cast<std::uint8_t>(1U << index);
    if ((thread->interfaces_noted & bit) == 0) active->note_interface(bit);
    thread->interfaces_noted = static_cast<std::uint8_t>(thread->interfaces_noted | bit);
    gate = open_gate(*thread, index, was_closed_to_read);
  }
  return (gate & selected) != 0;
}

bool is_mpi_code(const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  const MpiCode* code = g_mpi_code.load(std::memory_order_acquire);
  if (code == nullptr || is_in(*code, address)) return code != nullptr;
  // MPI loads some components at first use: for files, ROMIO.
  unsigned long long load_count = 0;
  dl_iterate_phdr(read_load_count, &load_count);
  if (load_count == code->load_count) return false;
  or_nothing([] { learn_mpi_code(); });
  return is_in(*g_mpi_code.load(std::memory_order_acquire), address);
}

void learn_mpi_code() {
  auto* code = new MpiCode;
  dl_iterate_phdr(collect_code, code);
  g_mpi_code.store(code, std::memory_order_release);
}

RequestArrays* claim_arrays_slow_path(MpiThread& thread, std::uint8_t depth, int count) noexcept {
  RequestArrays& arrays = thread.arrays[depth];
  const auto wanted = static_cast<std::uint32_t>(std::max(count, 0));
  if (wanted <= arrays.capacity) return &arrays;
  const std::uint32_t capacity = std::max(wanted, kInitialArrayCapacity);
  const bool may_be_in_use = depth + 1U == MpiThread::kDepths;
  auto* requests = may_be_in_use
                       ? nullptr
                       : static_cast<MPI_Request*>(std::malloc(capacity * sizeof(MPI_Request)));
  auto* statuses = may_be_in_use
                       ? nullptr
                       : static_cast<MPI_Status*>(std::malloc(capacity * sizeof(MPI_Status)));
  if (requests == nullptr || statuses == nullptr) {
    std::free(requests);
    std::free(statuses);
    if (Recorder* active = recorder()) active->count_loss(LossCause::kNoBuffer, wanted);
    return nullptr;
  }
  std::free(arrays.requests);
  std::free(arrays.statuses);
  arrays = {capacity, requests, statuses};
  return &arrays;
}

void stage(MpiThread& thread, const Fact& fact) noexcept {
  if (thread.staged_words + encoding::kMaxFactWords > thread.staged_capacity) {
    const std::uint32_t capacity = std::max(thread.staged_capacity * 2, kInitialStagedCapacity);
    void* grown = std::realloc(thread.staged, capacity * sizeof(encoding::Word));
    if (grown == nullptr) {
      if (Recorder* active = recorder()) active->count_loss(LossCause::kNoBuffer);
      return;
    }
    thread.staged = static_cast<encoding::Word*>(grown);
    thread.staged_capacity = capacity;
  }
  thread.staged_words += static_cast<std::uint32_t>(
      encoding::encode_fact(fact, thread.staged + thread.staged_words));
}

}  // namespace megascope::mpi
