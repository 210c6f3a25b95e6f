#pragma once

#include "core/encoding/encoding.h"
#include "core/record/call.h"

/// Encoding of calls into words, shared by the wrappers and the offline writer
/// (core/trace/trace_writer.h). Hot path: always inlined, no allocation, no branch that a wrapper
/// does not need.
namespace megascope::encoding {

[[gnu::always_inline]] inline Word comm_field(CommId comm) noexcept {
  return Word{comm < kWideComm ? comm : kWideComm} << 32;
}

/// Returns whether the facts fit into the call's own words. comm: communicator of the call. second:
/// the receive of a send-receive; else a fact of kind kNone.
[[gnu::always_inline]] inline bool folds(const Fact& main, const Fact& second,
                                         CommId comm) noexcept {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  return main.bytes < kLimit && main.bytes_received < kLimit && second.bytes < kLimit &&
         main.comm < kWideComm && main.comm == comm;
}

/// Words 2 to 4 of a call, and the kind in word 1. Words that the kind does not use are written but
/// are not part of the record.
struct Folded {
  FactKind kind = FactKind::kNone;
  Word words[3] = {0, 0, 0};
};
[[gnu::always_inline]] inline Folded fold(const Fact& main, const Fact& second) noexcept {
  const auto bytes = static_cast<std::uint32_t>(main.bytes);
  if (main.kind == FactKind::kNone) return {};
  if (main.kind == FactKind::kCollective) {
    return {main.kind,
            {pack(static_cast<std::uint32_t>(main.peer), main.sequence),
             pack(bytes, static_cast<std::uint32_t>(main.bytes_received)), 0}};
  }
  if (main.kind == FactKind::kSendrecv) {
    return {main.kind,
            {pack(main.peer, second.peer), pack(main.tag, second.tag),
             pack(bytes, static_cast<std::uint32_t>(second.bytes))}};
  }
  if (is_folded_rma(main.kind)) {
    const auto received = static_cast<std::uint32_t>(main.bytes_received);
    return {main.kind,
            {pack(main.peer, main.tag),
             pack(is_get(main.kind) ? received : bytes,
                  is_folded_sync(main.kind) ? main.sequence : main.request),
             received}};
  }
  return {main.kind, {pack(main.peer, main.tag), pack(bytes, main.request), 0}};
}

/// Fields of a call's own words other than the folded facts.
struct CallWords {
  std::uint64_t enter_ticks = 0;
  Word duration = 0;  ///< at most kLongDuration
  RegionId region = kNoRegion;
  std::uint8_t depth = 0;
  CommId comm = kNoComm;
};

/// Writes the call's own words and returns their end. to: space for kMaxCallWords words. Facts that
/// do not fold must not be in `folded`.
[[gnu::always_inline]] inline Word* encode_call(Word* to, const CallWords& call,
                                                const Folded& folded, std::uint64_t base_ticks,
                                                bool has_facts) noexcept {
  const unsigned flags = call.depth | (has_facts ? kHasFacts : 0U);
  to[0] = entry_word(call.enter_ticks, base_ticks, call.region);
  to[1] = call.duration | comm_field(call.comm) |
          Word{static_cast<std::uint8_t>(folded.kind)} << 48 | Word{flags} << 56;
  if (folded.kind == FactKind::kNone) return to + kBareWords;
  to[2] = folded.words[0];
  to[3] = folded.words[1];
  if (!has_fifth_word(folded.kind)) return to + kMessageWords;
  to[4] = folded.words[2];
  return to + kMaxCallWords;
}

}  // namespace megascope::encoding
