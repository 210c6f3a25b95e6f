#include "mpi_layer/calls/coalesced_polls.h"

#include "mpi_layer/calls/progress_ticks.h"

#include <algorithm>

namespace megascope::mpi::coalesced_polls {

using namespace encoding;

namespace {

constexpr std::uint64_t kMinTimed = 8;     ///< polls that are timed at the begin and after a gap
constexpr std::uint64_t kMaxBurst = 256;   ///< polls without a gap that are called a burst
constexpr std::uint64_t kMaxUntimed = 64;  ///< calls from one reading to the next
constexpr std::uint64_t kPollsPerUntimed = 4;  ///< polls since the last gap for each of them
constexpr std::uint32_t kReadingsPerTimed = 16;
constexpr std::uint64_t kGapUs = 20;
constexpr std::uint64_t kMaxTicks = kLongDuration / 2;  ///< duration of a sequence
constexpr Word kTimeMask = (Word{1} << 48) - 1;

/// Appends the kRepeated fact to the record, the first time a call is added.
void append_fact(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  EventBuffer& buffer = *thread.buffer;
  run.call[1] |= Word{kHasFacts} << 56;  // before the fact exists: a reader of a running job takes
                                         // a fact to be announced
  run.fact = buffer.cursor();
  encode_fact({.kind = FactKind::kRepeated, .request = 1, .bytes = run.typical_ticks}, run.fact);
  buffer.commit(run.fact + kMediumWords);
  run.end = buffer.cursor();
}

/// Sets the duration of the sequence and adds to the time in its calls.
void set_times(MpiThread::Run& run, std::uint64_t duration, std::uint64_t added_ticks) noexcept {
  const std::uint64_t busy_ticks = std::min((run.fact[2] & kTimeMask) + added_ticks, duration);
  run.fact[2] = (run.fact[2] & ~kTimeMask) | busy_ticks;
  run.call[1] = (run.call[1] & ~Word{0xFFFFFFFF}) | duration;
}

/// Begins the count of polls without a gap. If there were few of them, the program may poll in
/// bursts: as many polls and as many again are then timed.
void note_gap(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  thread.timed_polls = run.dense_count <= kMaxBurst ? 2 * run.dense_count : 0;
  run.dense_count = 0;
}

/// Returns the number of calls until the next reading; 0: the next call is timed.
std::uint64_t untimed_calls(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  const bool is_timed = run.dense_count < std::max(thread.timed_polls, kMinTimed) ||
                        run.poll_key == 0 || run.fact == nullptr || g_wants_call_sites ||
                        run.last_ticks - run.enter_ticks >= kMaxTicks ||
                        ++run.reading_count % kReadingsPerTimed == 0;
  if (is_timed) return 0;
  const std::uint64_t in_time = thread.ticks_per_us * 3 / 4 /
                                std::max<std::uint64_t>(run.period_ticks, 1);
  return std::min({run.dense_count / kPollsPerUntimed, in_time, kMaxUntimed});
}

/// Takes note of a reading at the return of a call. poll_count: number of calls since the last
/// reading.
void note_reading(MpiThread& thread, std::uint64_t now_ticks, std::uint32_t poll_count) noexcept {
  MpiThread::Run& run = thread.run;
  const std::uint64_t elapsed_ticks = now_ticks - run.last_ticks;
  if (thread.ticks_per_us == 0) thread.ticks_per_us = ticks_per_us(thread.use_tsc);
  run.dense_count += poll_count;
  if (elapsed_ticks >= kGapUs * thread.ticks_per_us) note_gap(thread);
  run.period_ticks = elapsed_ticks / std::max(poll_count, 1U);
  run.last_ticks = now_ticks;
  run.mark_word = entry_word(std::max(now_ticks, run.enter_ticks + 1), thread.buffer->base_ticks(),
                             static_cast<RegionId>(run.fn));
  run.untimed = run.planned = static_cast<std::uint32_t>(untimed_calls(thread));
}

}  // namespace

bool extend(MpiThread& thread, const CallRecord& call, std::uint64_t leave_ticks) noexcept {
  MpiThread::Run& run = thread.run;
  const std::uint64_t duration = leave_ticks - run.enter_ticks;
  if (duration >= kLongDuration || (run.fact == nullptr && !thread.buffer->has_space(kMediumWords)))
    return false;
  if (run.fact == nullptr) append_fact(thread);
  run.typical_ticks = leave_ticks - call.enter_ticks;
  thread.busy_ticks += run.typical_ticks;
  run.fact[0] += Word{1} << 32;
  set_times(run, duration, run.typical_ticks);
  thread.buffer->pending().words[0] = run.first_word;
  run.poll_key = call.poll_key;
  run.probed = call.probed;
  note_reading(thread, leave_ticks, run.planned - run.untimed + 1);
  if (leave_ticks >= thread.next_progress_ticks)
    progress_tick(thread, leave_ticks);  // a thread that waits by testing writes no other call
  return true;
}

void read_clock(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  const std::uint64_t now_ticks = clock::ticks(thread.use_tsc);
  const std::uint64_t duration = now_ticks - run.enter_ticks;
  if (duration >= kLongDuration) {  // the last calls of the sequence lie after its end
    run.fn = Fn::kNone;
    return;
  }
  const std::uint32_t poll_count = run.planned;
  thread.busy_ticks += run.typical_ticks * poll_count;
  set_times(run, duration, 0);
  note_reading(thread, now_ticks, poll_count);
  run.typical_ticks = std::min(run.typical_ticks, run.period_ticks);
  if (now_ticks >= thread.next_progress_ticks) progress_tick(thread, now_ticks);
}

void settle_entry(MpiThread& thread, CallRecord& call, std::uint64_t leave_ticks) noexcept {
  MpiThread::Run& run = thread.run;
  EventBuffer& buffer = *thread.buffer;
  const std::uint64_t elapsed_ticks = leave_ticks - run.last_ticks;
  const std::uint64_t poll_count = run.planned - run.untimed;
  call.enter_ticks = run.last_ticks;
  // An entry is estimated only where no callback made calls in this one, which are not to come
  // before it.
  if (elapsed_ticks <= thread.ticks_per_us && run.end == buffer.cursor()) {
    call.enter_ticks += std::min(poll_count * run.period_ticks, elapsed_ticks);
    const std::uint64_t duration = call.enter_ticks - run.enter_ticks;
    if (duration < kLongDuration) set_times(run, duration, 0);
  } else {
    stage(thread, {.kind = FactKind::kUncertain, .bytes = elapsed_ticks});
    run.dense_count += poll_count;
    if (elapsed_ticks >= kGapUs * thread.ticks_per_us) note_gap(thread);
  }
  buffer.pending().words[0] = entry_word(call.enter_ticks, buffer.base_ticks(),
                                         static_cast<RegionId>(call.fn));
}

void begin(MpiThread& thread, const CallRecord& call, Word* at,
           std::uint64_t leave_ticks) noexcept {
  const EventBuffer& buffer = *thread.buffer;
  const std::uint64_t enter_ticks = call.enter_ticks;
  const Word first_word = entry_word(enter_ticks, buffer.base_ticks(),
                                     static_cast<RegionId>(call.fn));
  const bool is_there = buffer.cursor() > at && buffer.cursor() <= at + kMaxCallWords &&
                        at[0] == first_word;
  thread.run = {.fn = is_there ? call.fn : Fn::kNone,
                .untimed = 0,
                .planned = 0,
                .reading_count = 0,
                .key = call.run_key,
                .poll_key = call.poll_key,
                .probed = call.probed,
                .last_ticks = leave_ticks,
                .dense_count = 1,
                .period_ticks = 0,
                .mark_word = 0,
                .call = at,
                .fact = nullptr,
                .end = buffer.cursor(),
                .first_word = first_word,
                .enter_ticks = enter_ticks,
                .typical_ticks = leave_ticks - enter_ticks};
}

}  // namespace megascope::mpi::coalesced_polls
