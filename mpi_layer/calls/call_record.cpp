#include "mpi_layer/calls/call_record.h"

#include "mpi_layer/calls/failure.h"
#include "mpi_layer/calls/progress_ticks.h"

#include <algorithm>

namespace megascope::mpi {

using namespace encoding;

namespace {

/// Stages facts that do not fold.
void stage_folded(MpiThread& thread, CallRecord& call) noexcept {
  if (call.main.kind == FactKind::kNone || detail::folds(call)) return;
  if (call.main.kind == FactKind::kSendrecv) {
    call.main.kind = FactKind::kSend;
    call.second.kind = FactKind::kRecv;
    stage(thread, call.main);
    stage(thread, call.second);
  } else {
    stage(thread, call.main);
  }
  call.main.kind = FactKind::kNone;
}

std::size_t fact_words(Word header) noexcept {
  const auto layout = static_cast<unsigned>(header & 0xFFFF);
  return layout == kShortFact ? kShortWords : layout == kMediumFact ? kMediumWords : kWideWords;
}

void write_staged(MpiThread& thread) noexcept {
  EventBuffer& buffer = *thread.buffer;
  for (std::uint32_t at = 0; at < thread.staged_words;) {
    const std::size_t words = fact_words(thread.staged[at]);
    if (!buffer.ensure(words)) break;
    Word* to = buffer.cursor();
    std::copy_n(thread.staged + at, words, to);
    buffer.commit(to + words);
    at += static_cast<std::uint32_t>(words);
  }
  thread.staged_words = 0;
}

}  // namespace

void write_rare(MpiThread& thread, CallRecord call, std::uint64_t leave_ticks, int rc) noexcept {
  EventBuffer& buffer = *thread.buffer;
  const std::uint64_t duration = leave_ticks - call.enter_ticks;
  if (rc != MPI_SUCCESS) note_failure(thread, call, rc);
  stage_folded(thread, call);
  if (duration >= kLongDuration) stage(thread, {.kind = FactKind::kDuration, .bytes = duration});
  const bool has_space = buffer.ensure(kMaxCallWords + kTimeBaseWords) &&
                         (time_fits(call.enter_ticks, buffer.base_ticks()) ||
                          buffer.rebase(call.enter_ticks)) &&
                         buffer.ensure(kMaxCallWords);
  if (!has_space) {
    thread.staged_words = 0;
    if (!buffer.is_usable())
      std::fill(std::begin(thread.gate), std::end(thread.gate), std::uint8_t{0});
    return;
  }
  const Word stored = std::min<std::uint64_t>(duration, kLongDuration);
  buffer.commit(detail::encode_call(buffer.cursor(), call, stored, buffer.base_ticks(),
                                    thread.staged_words != 0));
  write_staged(thread);
  if (leave_ticks >= thread.next_progress_ticks && call.depth == 0)
    progress_tick(thread, leave_ticks);
}

}  // namespace megascope::mpi
