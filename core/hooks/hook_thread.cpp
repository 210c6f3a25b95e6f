#include "core/hooks/hook_thread.h"

#include "core/base/never_destroyed.h"
#include "core/base/no_cancel.h"
#include "core/base/scarce_memory.h"
#include "core/base/wiped_memory.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/kept.h"
#include "core/hooks/refusals.h"
#include "core/lifecycle/runtime.h"

#include <algorithm>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace megascope::hooks {
namespace {

HookThread g_closed_thread{};
std::atomic<Recorder*> g_recorder{nullptr};
constinit std::atomic<pid_t> g_pid{
    0};  // process that records; 0 before the first recording, so that a forked child may start one
std::atomic<std::uint8_t> g_all{0};     // g_gate while records are kept
std::atomic<std::uint8_t> g_beside{0};  // bits that are set whether records are kept or not
std::mutex g_threads_mutex;             // not taken in a forked child
std::vector<HookThread*>& threads() {
  static NeverDestroyed<std::vector<HookThread*>> all;
  return *all;
}

HookThread* make_thread(Recorder& recorder) noexcept {
  EventBuffer* buffer = recorder.hooks_of_this_thread();
  auto* thread = static_cast<HookThread*>(buffer != nullptr ? fork_wiped_memory(sizeof(HookThread))
                                                            : nullptr);
  if (thread == nullptr) return nullptr;
  thread->buffer = buffer;
  thread->use_tsc = recorder.options().use_tsc;
  thread->step = -1;
  const std::lock_guard lock(g_threads_mutex);
  const bool is_noted = without_throwing(
      [thread] { return threads().push_back(thread), true; },
      [&recorder] { recorder.count_loss(LossCause::kNoBuffer); });
  return is_noted ? thread : nullptr;  // without an entry its gate could not be closed
}

}  // namespace

constinit thread_local HookThread* t_hooks = &g_closed_thread;
constinit std::atomic<std::uint8_t> g_gate{kMayBegin};

bool is_forked_child() noexcept {
  const pid_t pid = g_pid.load(std::memory_order_relaxed);
  return pid != 0 && getpid() != pid;
}

Recorder* recorder() noexcept {
  return is_forked_child() ? nullptr : g_recorder.load(std::memory_order_acquire);
}

namespace {

/// Sets the gate of new threads and closes all others, which read it again at their next hook.
void set_gate(std::uint8_t gate) noexcept {
  const std::lock_guard lock(g_threads_mutex);
  g_gate.store(gate, std::memory_order_relaxed);
  for (HookThread* thread : threads())
    std::atomic_ref(thread->gate)
        .store(0, std::memory_order_relaxed);  // zero makes the thread look at g_gate again
}

std::uint8_t gate_where(bool is_kept) noexcept {
  const std::uint8_t all = g_all.load(std::memory_order_relaxed);
  const auto here = is_kept ? all : static_cast<std::uint8_t>(all & (kRegions | kSteps | kCpu));
  return static_cast<std::uint8_t>(here | g_beside.load(std::memory_order_relaxed));
}

/// Enters the regions from open[first] on again.
void go_on(HookThread& thread, std::uint64_t now, std::uint32_t first) noexcept {
  for (std::uint32_t i = first; i < thread.depth; ++i) {
    EventBuffer& buffer = *thread.buffer;
    if (!has_space(buffer, 1 + 2 * hook_words::kMaxValueWords, now)) return;
    encoding::Word* to = buffer.cursor();
    *to++ = hook_words::timed(now, buffer.base_ticks(), thread.open[i]);
    if (is_step(thread.open[i])) to = hook_words::encode_value(to, ValueName::kStep, thread.step);
    buffer.commit(hook_words::encode_value(to, ValueName::kContinued, 1));
  }
}

/// Moves the thread's records to or from the trace as is_kept() says. Open regions are closed on
/// one side and continued on the other.
void follow(HookThread& thread) noexcept {
  const bool is_outside = !is_kept();
  if (thread.is_outside == is_outside || thread.is_held) return;
  thread.is_outside = is_outside;
  const std::uint64_t now = clock::ticks(thread.use_tsc);
  for (std::uint32_t i = 0; i < thread.depth; ++i) put(thread, now, hook_words::kLeave);
  thread.buffer->keep(!is_outside);
  go_on(thread, now, 0);
}

}  // namespace

void open_threads(Recorder* recorder, std::uint8_t gate) noexcept {
  if (recorder != nullptr) g_pid.store(getpid(), std::memory_order_relaxed);
  g_recorder.store(recorder, std::memory_order_release);
  g_all.store(gate, std::memory_order_relaxed);
  set_gate(gate);
}

void keep(bool is_kept) noexcept {
  if (!set_kept(is_kept)) return;
  set_gate(gate_where(is_kept));
  report_follower(is_kept);
  (void)begin_thread(kSteps);
}

/// Sets the gate bits that are set whether records are kept or not.
void look_beside(std::uint8_t bits) noexcept {
  if (recorder() == nullptr) return;
  g_beside.store(bits, std::memory_order_relaxed);
  set_gate(gate_where(is_kept()));
}

HookThread* begin_thread(std::uint8_t bits) noexcept {
  const NoCancel no_cancel;
  if (is_forked_child()) return nullptr;
  if ((g_gate.load(std::memory_order_relaxed) & kMayBegin) != 0) {
    std::uint8_t waiting = kMayBegin;
    if (g_gate.compare_exchange_strong(waiting, 0)) runtime().hook_called();
  }
  Recorder* active = recorder();
  if (active == nullptr) return nullptr;
  if (t_hooks == &g_closed_thread) {
    HookThread* made = make_thread(*active);
    if (made == nullptr) return nullptr;
    t_hooks = made;
  }
  if (t_hooks->buffer == nullptr || !t_hooks->buffer->is_usable()) return nullptr;
  for (;;) {
    follow(*t_hooks);
    const std::lock_guard lock(g_threads_mutex);
    if (t_hooks->is_outside == is_kept() && !t_hooks->is_held)
      continue;  // is_kept() changed meanwhile, and the gate was closed before this point
    const std::uint8_t gate = g_gate.load(std::memory_order_relaxed);
    const bool is_plain = (gate & kRegions) != 0 && t_hooks->use_tsc;
    std::atomic_ref(t_hooks->gate)
        .store(static_cast<std::uint8_t>(gate | (is_plain ? kPlain : 0)),
               std::memory_order_relaxed);
    return (gate & bits) != 0 ? t_hooks : nullptr;
  }
}

KeptWhile::KeptWhile() noexcept : thread_(thread_for(kRegions)) {
  if (thread_ != nullptr && thread_->is_held) thread_ = nullptr;  // nested in another KeptWhile
  if (thread_ == nullptr) return;
  thread_->is_held = true;
  thread_->buffer->keep(true);
}

KeptWhile::~KeptWhile() {
  if (thread_ == nullptr) return;
  thread_->buffer->keep(!thread_->is_outside);
  thread_->is_held = false;
  (void)begin_thread(kSteps);  // follows changes of is_kept() in the meantime
}

void put_slow_path(HookThread& thread, std::uint64_t ticks, unsigned what) noexcept {
  put(thread, ticks, what);
}

bool make_space(EventBuffer& buffer, std::size_t words, std::uint64_t ticks) noexcept {
  return buffer.ensure(words + encoding::kTimeBaseWords) &&
         (encoding::time_fits(ticks, buffer.base_ticks()) || buffer.rebase(ticks)) &&
         buffer.ensure(words);
}

void leave_at(HookThread& thread, std::uint32_t index) noexcept {
  const std::uint64_t now = clock::ticks(thread.use_tsc);
  for (std::uint32_t depth = thread.depth; depth > index; --depth)
    put(thread, now, hook_words::kLeave);
  std::copy(thread.open + index + 1, thread.open + thread.depth, thread.open + index);
  --thread.depth;
  go_on(thread, now, index);
}

void leave_until(HookThread& thread, RegionId region) noexcept {
  if (thread.beyond != 0) {
    --thread.beyond;
    return;
  }
  const RegionId* const begin = thread.open;
  const RegionId* found = begin + thread.depth;
  while (found != begin && *(found - 1) != region) --found;
  if (found == begin)
    return refuse(LossCause::kUnbalanced, "a region was left that is not open on this thread");
  const std::uint64_t now = clock::ticks(thread.use_tsc);
  const auto kept = static_cast<std::uint32_t>(found - 1 - begin);
  for (std::uint32_t depth = thread.depth; depth > kept + 1; --depth) {
    put(thread, now, hook_words::kLeave);
    if (!may_cross(thread.open[depth - 1]))
      refuse(LossCause::kUnbalanced, "a region was left while a region inside of it is open");
  }
  put(thread, now, hook_words::kLeave);
  RegionId* const end = std::copy_if(thread.open + kept + 1, thread.open + thread.depth,
                                     thread.open + kept, may_cross);
  thread.depth = static_cast<std::uint32_t>(end - thread.open);
  go_on(thread, now, kept);
}

}  // namespace megascope::hooks
