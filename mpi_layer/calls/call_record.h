#pragma once

#include "core/base/clock.h"
#include "core/encoding/encode_call.h"
#include "core/record/call.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/table/fn.h"

#include <mpi.h>

#include <cstdint>

namespace megascope::mpi {

/// A call between entry and return, on the wrapper's stack. `main` and `second` are facts that may
/// be folded into the call's own words; further facts are staged (thread.h).
struct CallRecord {
  std::uint64_t enter_ticks = 0;
  Fn fn = Fn::kNone;
  std::uint8_t depth = 0;
  bool is_silent = false;       ///< tracks handles and is not recorded (selection.h)
  std::uint8_t index_base = 0;  ///< base of array indices in the call: 1 in Fortran
  CommId comm = kNoComm;
  Fact main;    ///< kind kNone: no fact
  Fact second;  ///< send-receive calls: the receive
  RequestArrays*
      arrays = nullptr;        ///< calls that complete an array of requests: the saved arguments
  std::uint32_t horizon = 0;   ///< completion calls: RequestTable::horizon() before the call
  CommState* state = nullptr;  ///< state of `comm`
  std::uint64_t run_key = 0;   ///< tests and probes: identifies the request or communicator
                               ///< (coalesced_polls.h)
  std::uint64_t poll_key = 0;  ///< MpiThread::Run::poll_key, and `probed` of it
  std::uint64_t probed = 0;
  bool is_untimed = false;  ///< tests and probes: the entry was not timed; enter_ticks is the last
                            ///< reading of the clock before it
  bool continues_run = false;  ///< tests and probes: the call continues the thread's sequence of
                               ///< coalesced polls if it finds nothing
  bool is_fruitless = false;   ///< the call is a test or probe and found nothing
  FileState* file = nullptr;   ///< calls on a file
  WinState* window = nullptr;  ///< one-sided calls
};

inline constexpr std::uint32_t kMaxInlineStagedWords = 64;

namespace detail {

[[gnu::always_inline]] inline bool folds(const CallRecord& call) noexcept {
  return encoding::folds(call.main, call.second, call.comm);
}

/// Writes the call's own words and returns their end. Facts that do not fold must be removed from
/// `call` first.
[[gnu::always_inline]] inline encoding::Word* encode_call(encoding::Word* to,
                                                          const CallRecord& call,
                                                          encoding::Word duration,
                                                          std::uint64_t base_ticks,
                                                          bool has_facts) noexcept {
  const encoding::CallWords words{call.enter_ticks, duration, static_cast<RegionId>(call.fn),
                                  call.depth, call.comm};
  return encoding::encode_call(to, words, encoding::fold(call.main, call.second), base_ticks,
                               has_facts);
}

}  // namespace detail

/// Marks the call as entered and not returned, for readers after a crash or a hang. Only for depth
/// 0. The mark has no space for the fifth word: sizes of a send-receive, received bytes of a
/// one-sided operation.
[[gnu::always_inline]] inline void mark_pending(EventBuffer& buffer,
                                                const CallRecord& call) noexcept {
  using encoding::Word;
  const encoding::Folded folded = encoding::fold(call.main, call.second);
  Word* to = buffer.pending().words;
  to[3] = folded.words[1];
  to[2] = folded.words[0];
  to[1] = encoding::comm_field(call.comm) | Word{static_cast<std::uint8_t>(folded.kind)} << 48;
  to[0] = encoding::entry_word(call.enter_ticks, buffer.base_ticks(),
                               static_cast<RegionId>(call.fn));
}

/// Marks the call as entered and not returned, for readers after a crash or a hang. A call that
/// only tracks handles (CallRecord::is_silent) is not shown: the thread's current call is then
/// marked as unknown.
[[gnu::always_inline]] inline void mark(EventBuffer& buffer, const CallRecord& call) noexcept {
  if (call.is_silent) [[unlikely]]
    buffer.clear_pending();
  else
    mark_pending(buffer, call);
}

/// Handles the rare cases of write_call(): the call failed, is long or large, a progress tick is
/// due, it is far from the time base, has many facts, or needs a new chunk. call: a copy, so that
/// the wrapper's own object can stay in registers.
void write_rare(MpiThread& thread, CallRecord call, std::uint64_t leave_ticks, int rc) noexcept;

namespace detail {

/// Copies member by member. Copying the whole object would force it into initialised memory in
/// every call.
[[gnu::always_inline]] inline Fact copy_of(const Fact& from) noexcept {
  return {.kind = from.kind,
          .comm = from.comm,
          .request = from.request,
          .sequence = from.sequence,
          .peer = from.peer,
          .tag = from.tag,
          .bytes = from.bytes,
          .bytes_received = from.bytes_received};
}
[[gnu::always_inline]] inline CallRecord copy_of(const CallRecord& from) noexcept {
  CallRecord copy;
  copy.enter_ticks = from.enter_ticks;
  copy.fn = from.fn;
  copy.depth = from.depth;
  copy.comm = from.comm;
  copy.main = copy_of(from.main);
  copy.second = copy_of(from.second);
  return copy;
}

}  // namespace detail

/// Writes the call and its staged facts. One branch for all rare cases.
[[gnu::always_inline]] inline void write_call(MpiThread& thread, const CallRecord& call,
                                              std::uint64_t leave_ticks, int rc) noexcept {
  using namespace encoding;
  EventBuffer& buffer = *thread.buffer;
  const std::uint64_t duration = leave_ticks - call.enter_ticks;
  if (call.depth == 0) thread.busy_ticks += duration;
  const std::uint32_t staged_words = thread.staged_words;
  const bool has_message = call.main.kind != FactKind::kNone;
  const bool is_rare = rc != MPI_SUCCESS || duration >= kLongDuration ||
                       staged_words > kMaxInlineStagedWords ||
                       (has_message && !detail::folds(call)) ||
                       !buffer.has_space(kMaxCallWords + staged_words) ||
                       !time_fits(call.enter_ticks, buffer.base_ticks()) ||
                       leave_ticks >= thread.next_progress_ticks;
  if (is_rare) [[unlikely]] {
    write_rare(thread, detail::copy_of(call), leave_ticks, rc);
    return;
  }
  Word* to = detail::encode_call(buffer.cursor(), call, duration, buffer.base_ticks(),
                                 staged_words != 0);
  if (staged_words != 0) {
    for (std::uint32_t i = 0; i < staged_words; ++i) *to++ = thread.staged[i];
    thread.staged_words = 0;
  }
  buffer.commit(to);
}

}  // namespace megascope::mpi
