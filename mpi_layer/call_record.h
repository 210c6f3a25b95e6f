#pragma once

#include <mpi.h>

#include <cstdint>

#include "core/base/clock.h"
#include "core/record/call.h"
#include "core/record/encoding.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/thread.h"

namespace megascope::mpi {

/// A call between its entry and its return, on the wrapper's stack. `main` and `second` are facts that fold into the
/// call's own words; whatever else is to be said is staged behind it (thread.h).
struct CallRecord {
  std::uint64_t enter_ticks = 0;
  Fn fn = Fn::kNone;
  std::uint8_t depth = 0;
  CommId comm = kNoComm;
  Fact main;    ///< kind kNone: nothing to say
  Fact second;  ///< of a send and receive: the receive
  std::uint32_t array_count = 0;  ///< requests saved in the thread's arrays
  bool has_arrays = false;
  CommState* state = nullptr;     ///< of `comm`
};

namespace detail {

inline encoding::Word comm_field(CommId comm) noexcept {
  return encoding::Word{comm < encoding::kWideComm ? comm : encoding::kWideComm} << 32;
}

inline bool folds(const CallRecord& call) noexcept {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  return call.main.bytes < kLimit && call.main.bytes_received < kLimit && call.second.bytes < kLimit &&
         call.main.comm < encoding::kWideComm && call.main.comm == call.comm;
}

/// Words 2 and on. Returns the kind that goes into word 1: of what has been folded.
inline FactKind fold(const CallRecord& call, encoding::Word* to) noexcept {
  using encoding::pack;
  const Fact& main = call.main;
  if (main.kind == FactKind::kNone || !folds(call)) return FactKind::kNone;
  if (encoding::is_folded_message(main.kind)) {
    to[2] = pack(main.peer, main.tag);
    to[3] = pack(static_cast<std::uint32_t>(main.bytes), main.request);
    return main.kind;
  }
  if (main.kind == FactKind::kCollective) {
    to[2] = pack(static_cast<std::uint32_t>(main.peer), main.sequence);
    to[3] = pack(static_cast<std::uint32_t>(main.bytes), static_cast<std::uint32_t>(main.bytes_received));
    return main.kind;
  }
  if (main.kind == FactKind::kSendrecv) {
    to[2] = pack(main.peer, call.second.peer);
    to[3] = pack(main.tag, call.second.tag);
    to[4] = pack(static_cast<std::uint32_t>(main.bytes), static_cast<std::uint32_t>(call.second.bytes));
    return main.kind;
  }
  return FactKind::kNone;
}

}  // namespace detail

/// Marks the call as entered and not returned, for a crash or a hang. Only calls of depth 0.
inline void mark_pending(EventBuffer& buffer, const CallRecord& call) noexcept {
  encoding::Word words[encoding::kMaxCallWords] = {};
  const FactKind kind = detail::fold(call, words);
  encoding::Word* to = buffer.pending().words;
  const bool is_wide = kind == FactKind::kSendrecv;  // does not fit the mark: the call alone is told
  to[2] = words[2];
  to[3] = words[3];
  to[1] = detail::comm_field(call.comm) | encoding::Word{static_cast<std::uint8_t>(is_wide ? FactKind::kNone : kind)} << 48;
  to[0] = encoding::entry_word(call.enter_ticks, buffer.base_ticks(), static_cast<RegionId>(call.fn));
}

/// What is rare about a call: long, large, far from the time base, or with many facts. Stages what does not fold.
void write_rare(MpiThread& thread, CallRecord& call, std::uint64_t leave_ticks) noexcept;

/// Writes the call and its staged facts. One branch for everything rare.
inline void write_call(MpiThread& thread, CallRecord& call, std::uint64_t leave_ticks) noexcept {
  using namespace encoding;
  EventBuffer& buffer = *thread.buffer;
  const std::uint64_t duration = leave_ticks - call.enter_ticks;
  const bool is_rare = duration >= kLongDuration || thread.staged_words > kMaxCallWords * 8 ||
                       (call.main.kind != FactKind::kNone && !detail::folds(call)) ||
                       !buffer.ensure(kMaxCallWords + thread.staged_words) ||
                       !time_fits(call.enter_ticks, buffer.base_ticks());
  if (is_rare) [[unlikely]] {
    write_rare(thread, call, leave_ticks);
    return;
  }
  Word* to = buffer.cursor();
  const FactKind kind = detail::fold(call, to);
  const unsigned flags = call.depth | (thread.staged_words != 0 ? kHasFacts : 0U);
  to[0] = entry_word(call.enter_ticks, buffer.base_ticks(), static_cast<RegionId>(call.fn));
  to[1] = duration | detail::comm_field(call.comm) | Word{static_cast<std::uint8_t>(kind)} << 48 | Word{flags} << 56;
  to += call_words(kind);
  for (std::uint32_t i = 0; i < thread.staged_words; ++i) *to++ = thread.staged[i];
  thread.staged_words = 0;
  buffer.commit(to);
}

}  // namespace megascope::mpi
