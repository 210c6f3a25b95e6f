#include "core/hooks/requests.h"

#include "core/base/clock.h"
#include "core/base/no_cancel.h"
#include "core/base/scarce_memory.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hook_thread.h"
#include "core/hooks/hooks.h"
#include "core/hooks/name_table.h"
#include "core/hooks/refusals.h"

#include <atomic>
#include <deque>
#include <new>
#include <utility>

namespace megascope::hooks {
namespace {

std::atomic<RequestSink*> g_sink{nullptr};
std::atomic<ReplyFollower> g_follower{nullptr};
std::atomic<bool> g_has_polled{false};

struct Waiting {
  ProcessLock lock;
  std::deque<std::string> requests;
};
Waiting& waiting() {
  static auto* const all = new Waiting;
  return *all;
}

/// Positions of the calling thread's buffers when its step began.
struct StepMark {
  const encoding::Word* hooks = nullptr;
  const encoding::Word* calls = nullptr;
  std::uint64_t ns = 0;
  bool has_polled_in_vain = false;
};
thread_local StepMark t_step;

StepMark mark_of_this_thread() noexcept {
  Recorder* const active = recorder();
  if (active == nullptr) return {};
  StepMark mark;
  if (t_hooks->buffer != nullptr) mark.hooks = t_hooks->buffer->cursor();
  if (const EventBuffer* const calls = active->calls_of_this_thread()) mark.calls = calls->cursor();
  mark.ns = clock::monotonic_ns();
  return mark;
}

/// Returns the sink; nullptr if nothing is recorded or served, and in a forked child.
RequestSink* sink_here() noexcept {
  (void)thread_for(kSteps);  // this may be the hook that starts the recording
  return recorder() == nullptr ? nullptr : g_sink.load(std::memory_order_acquire);
}

std::size_t take_request(char* text, std::size_t size) {
  const ProcessGuard locked(waiting().lock);
  if (!locked) return 0;
  t_step.has_polled_in_vain = waiting().requests.empty();
  if (waiting().requests.empty()) return 0;
  const std::string& oldest = waiting().requests.front();
  const std::size_t length = oldest.size();
  if (text == nullptr || length >= size) return length;
  oldest.copy(text, length);
  text[length] = '\0';
  waiting().requests.pop_front();
  return length;
}

}  // namespace

std::size_t poll_request(char* text, std::size_t size) noexcept {
  RequestSink* const sink = sink_here();
  if (sink == nullptr) return 0;
  const NoCancel no_cancel;
  if (!g_has_polled.exchange(true)) sink->note_first_poll();
  return without_throwing([&] { return take_request(text, size); }, [] {});
}

void reply(std::string_view text) noexcept {
  RequestSink* const sink = sink_here();
  if (sink == nullptr || text.empty()) return;
  const NoCancel no_cancel;
  sink->reply(text);
  if (const ReplyFollower follower = g_follower.load(std::memory_order_acquire)) follower();
}

void offer_request(std::string text) {
  const ProcessGuard locked(waiting().lock);
  if (!locked) return;
  if (waiting().requests.size() == kMaxWaitingRequests) {
    waiting().requests.pop_front();
    refuse(LossCause::kRefused,
           "a client's request was dropped: the application did not poll for requests in time");
  }
  waiting().requests.push_back(std::move(text));
}

void note_step_begin() noexcept {
  if (g_has_polled.load(std::memory_order_relaxed)) t_step = mark_of_this_thread();
}

void note_step_end() noexcept {
  constexpr std::uint64_t kIdleNs = 1'000'000;
  if (!std::exchange(t_step.has_polled_in_vain, false) || t_step.hooks == nullptr) return;
  const StepMark now = mark_of_this_thread();
  RequestSink* const sink = g_sink.load(std::memory_order_acquire);
  const bool is_idle = now.hooks == t_step.hooks && now.calls == t_step.calls &&
                       now.ns - t_step.ns < kIdleNs;
  if (is_idle && sink != nullptr) sink->note_idle_step();
}

void set_request_sink(RequestSink* sink) noexcept { g_sink.store(sink, std::memory_order_release); }
void set_reply_follower(ReplyFollower follower) noexcept {
  g_follower.store(follower, std::memory_order_release);
}

}  // namespace megascope::hooks
