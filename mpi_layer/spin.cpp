#include "mpi_layer/spin.h"

namespace megascope::mpi {

using namespace encoding;

namespace {

/// The run's fact behind the call's own words and facts, the first time a call is added to it.
void append_fact(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  EventBuffer& buffer = *thread.buffer;
  run.fact = buffer.cursor();
  encode_fact({.kind = FactKind::kRepeated, .request = run.count, .bytes = run.busy_ticks}, run.fact);
  buffer.commit(run.fact + kMediumWords);
  run.end = buffer.cursor();
}

/// leave_ticks: not after the true one.
bool extend(MpiThread& thread, std::uint64_t leave_ticks) noexcept {
  MpiThread::Run& run = thread.run;
  const std::uint64_t duration = leave_ticks - run.enter_ticks;
  const bool is_new = run.fact == nullptr;
  if (duration >= kLongDuration || (is_new && !thread.buffer->has_room(kMediumWords))) return false;
  ++run.count;
  run.busy_ticks += run.typical_ticks;
  if (is_new) {
    append_fact(thread);
  } else {
    run.fact[0] = (run.fact[0] & 0xFFFFFFFF) | Word{run.count} << 32;
    run.fact[2] = (run.fact[2] & Word{kWideComm} << 48) | run.busy_ticks;
  }
  run.call[1] = (run.call[1] & ~Word{0xFFFFFFFF}) | duration | Word{kHasFacts} << 56;
  thread.buffer->pending().words[0] = run.first_word;
  thread.staged_words = 0;
  return true;
}

/// Remembers the call just written as the first of a run, if it lies in the buffer as it was meant to.
void begin(MpiThread& thread, const CallRecord& call, Word* at, std::uint64_t leave_ticks) noexcept {
  const EventBuffer& buffer = *thread.buffer;
  MpiThread::Run& run = thread.run;
  const Word first_word = entry_word(call.enter_ticks, buffer.base_ticks(), static_cast<RegionId>(call.fn));
  const bool is_there = call.depth == 0 && buffer.cursor() > at && buffer.cursor() <= at + kMaxCallWords && at[0] == first_word;
  run.fn = is_there ? call.fn : Fn::kNone;
  run.key = call.run_key;
  run.call = at;
  run.first_word = first_word;
  run.fact = nullptr;
  run.end = buffer.cursor();
  run.enter_ticks = call.enter_ticks;
  run.typical_ticks = run.busy_ticks = leave_ticks - call.enter_ticks;
  run.count = 1;
}

}  // namespace

void write_fruitless(MpiThread& thread, const CallRecord& call, std::uint64_t leave_ticks) noexcept {
  if (leave_ticks == 0) leave_ticks = call.enter_ticks;
  else thread.run.typical_ticks = leave_ticks - call.enter_ticks;
  if (call.continues_run && extend(thread, leave_ticks)) return;
  Word* const at = thread.buffer->cursor();
  write_call(thread, call, leave_ticks, MPI_SUCCESS);
  begin(thread, call, at, leave_ticks);
}

}  // namespace megascope::mpi
