#include "mpi_layer/calls/coalesced_polls.h"

#include "mpi_layer/calls/progress_ticks.h"

#include <algorithm>

namespace megascope::mpi::coalesced_polls {

using namespace encoding;

namespace {

/// Short sequences are timed call by call, longer ones at every eighth call.
constexpr std::uint32_t kAllMeasured = 8;
constexpr std::uint32_t kUnmeasured = 7;

/// Appends the kRepeated fact to the record, the first time a call is added.
void append_fact(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  EventBuffer& buffer = *thread.buffer;
  run.call[1] |= Word{kHasFacts} << 56;  // before the fact exists: a reader of a running job takes
                                         // a fact to be announced
  run.fact = buffer.cursor();
  encode_fact({.kind = FactKind::kRepeated, .request = 1, .bytes = run.busy_ticks}, run.fact);
  buffer.commit(run.fact + kMediumWords);
  run.end = buffer.cursor();
}

}  // namespace

bool extend(MpiThread& thread, std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept {
  MpiThread::Run& run = thread.run;
  const std::uint64_t duration = leave_ticks - run.enter_ticks;
  if (duration >= kLongDuration || (run.fact == nullptr && !thread.buffer->has_space(kMediumWords)))
    return false;
  if (run.fact == nullptr) append_fact(thread);
  const auto count = static_cast<std::uint32_t>(run.fact[0] >> 32) + 1;
  run.unmeasured = count < kAllMeasured ? 0 : kUnmeasured;
  run.typical_ticks = leave_ticks - enter_ticks;
  thread.busy_ticks += run.typical_ticks;
  run.busy_ticks = std::min(run.busy_ticks + run.typical_ticks, duration);
  run.fact[0] = (run.fact[0] & 0xFFFFFFFF) | Word{count} << 32;
  run.fact[2] = (run.fact[2] & Word{kWideComm} << 48) | run.busy_ticks;
  run.call[1] = (run.call[1] & ~Word{0xFFFFFFFF}) | duration;
  thread.buffer->pending().words[0] = run.first_word;
  if (leave_ticks >= thread.next_progress_ticks)
    progress_tick(thread, leave_ticks);  // a thread that waits by testing writes no other call
  return true;
}

void begin(MpiThread& thread, Fn fn, std::uint64_t key, Word* at, std::uint64_t enter_ticks,
           std::uint64_t leave_ticks) noexcept {
  const EventBuffer& buffer = *thread.buffer;
  MpiThread::Run& run = thread.run;
  const Word first_word = entry_word(enter_ticks, buffer.base_ticks(), static_cast<RegionId>(fn));
  const bool is_there = buffer.cursor() > at && buffer.cursor() <= at + kMaxCallWords &&
                        at[0] == first_word;
  run = {.fn = is_there ? fn : Fn::kNone,
         .unmeasured = 0,
         .key = key,
         .call = at,
         .fact = nullptr,
         .end = buffer.cursor(),
         .first_word = first_word,
         .enter_ticks = enter_ticks,
         .busy_ticks = leave_ticks - enter_ticks,
         .typical_ticks = leave_ticks - enter_ticks};
}

}  // namespace megascope::mpi::coalesced_polls
