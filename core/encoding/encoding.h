#pragma once

#include "core/record/call.h"

#include <cstddef>
#include <cstdint>

/// Encoding of calls in memory and on disk, in 64-bit little-endian words. docs/trace_format.md is
/// the reference.
///
/// A call is written at its return, as 2, 4 or 5 words:
/// - word 0: bits 0-15 region, 16-63 entry time minus the time base (signed)
/// - word 1: bits 0-31 duration, 32-47 communicator, 48-55 FactKind of the folded fact, 56-63 flags
/// - words 2, 3 of a message: peer | tag << 32, bytes | request << 32
/// - words 2, 3 of a collective: root | sequence << 32, sent | received << 32
/// - words 2-4 of a send-receive: destination | source << 32, send tag | receive tag << 32, sent |
///   received << 32
/// - words 2, 3 of a one-sided operation: target | window << 32, bytes | matching id << 32; with
///   bytes in both directions also word 4: received
/// - words 2, 3 of a synchronisation: target | window << 32, bytes | sequence << 32
///
/// Facts that do not fit follow the call. The low 16 bits of their header word are not a region:
/// - short: bits 0-15 kShortFact, 16-23 FactKind, 24-31 number of further consecutive requests,
///   32-63 first request
/// - medium: header, peer | tag << 32, bytes | communicator << 48
/// - wide: header, communicator | sequence << 32, peer | tag << 32, bytes, bytes received
/// - time: kTimeBase; the next word is the new time base, in ticks
namespace megascope::encoding {

using Word = std::uint64_t;

inline constexpr unsigned kShortFact = 0xFFE0;
inline constexpr unsigned kMediumFact = 0xFFE1;
inline constexpr unsigned kWideFact = 0xFFE2;
inline constexpr unsigned kTimeBase = 0xFFE3;

inline constexpr std::uint32_t kLongDuration = 0xFFFFFFFF;  ///< the duration is in a kDuration fact
inline constexpr std::uint32_t kWideComm = 0xFFFF;  ///< no communicator, or one in a wide fact

// Flags of a call.
inline constexpr unsigned kDepthMask = 0x07;  ///< nesting depth, saturating
inline constexpr unsigned kHasFacts = 0x08;   ///< facts follow the call

inline constexpr std::size_t kBareWords = 2;
inline constexpr std::size_t kMessageWords = 4;
inline constexpr std::size_t kMaxCallWords = 5;
inline constexpr std::size_t kShortWords = 1;
inline constexpr std::size_t kMediumWords = 3;
inline constexpr std::size_t kWideWords = 5;
inline constexpr std::size_t kTimeBaseWords = 2;
inline constexpr std::size_t kMaxFactWords = kWideWords;

inline constexpr Word pack(std::uint32_t low, std::uint32_t high) {
  return Word{low} | Word{high} << 32;
}
inline constexpr Word pack(std::int32_t low, std::int32_t high) {
  return pack(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
}
inline constexpr std::uint32_t low32(Word word) { return static_cast<std::uint32_t>(word); }
inline constexpr std::uint32_t high32(Word word) { return static_cast<std::uint32_t>(word >> 32); }

/// entry_word() encodes an entry time relative to the time base; entry_ticks() decodes it.
/// time_fits() returns whether this is possible: the time is within 2^47 ticks of the base (15
/// hours at 2.5 GHz).
inline constexpr bool time_fits(std::uint64_t enter_ticks, std::uint64_t base_ticks) {
  return ((enter_ticks - base_ticks + (Word{1} << 47)) >> 48) == 0;
}
inline constexpr Word entry_word(std::uint64_t enter_ticks, std::uint64_t base_ticks,
                                 RegionId region) {
  return (enter_ticks - base_ticks) << 16 | region;
}
inline constexpr std::uint64_t entry_ticks(Word word, std::uint64_t base_ticks) {
  return base_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> 16);
}

/// Returns whether the fact is a message stored in words 2 and 3 of a call.
inline constexpr bool is_folded_message(FactKind kind) {
  return kind == FactKind::kSend || kind == FactKind::kRecv || kind == FactKind::kSendRequest ||
         kind == FactKind::kRecvRequest;
}
/// Returns whether the fact is a one-sided operation with bytes in both directions.
inline constexpr bool is_folded_exchange(FactKind kind) {
  return kind == FactKind::kGetAccumulate || kind == FactKind::kCompareAndSwap ||
         kind == FactKind::kRgetAccumulate;
}
/// Returns whether the fact is a synchronisation, with a sequence number instead of a matching id.
inline constexpr bool is_folded_sync(FactKind kind) {
  return kind >= FactKind::kWinCreated && kind <= FactKind::kWindow;
}
inline constexpr bool is_folded_rma(FactKind kind) {
  return is_rma_operation(kind) || is_folded_sync(kind);
}
inline constexpr bool is_get(FactKind kind) {
  return kind == FactKind::kGet || kind == FactKind::kRget;
}
/// Returns whether a call with this fact has words 2 to 4.
inline constexpr bool has_fifth_word(FactKind kind) {
  return kind == FactKind::kSendrecv || is_folded_exchange(kind);
}
inline constexpr std::size_t call_words(FactKind folded) {
  if (has_fifth_word(folded)) return kMaxCallWords;
  const bool is_folded = is_folded_message(folded) || folded == FactKind::kCollective ||
                         is_folded_rma(folded);
  return is_folded ? kMessageWords : kBareWords;
}

inline constexpr unsigned kMaxShortRun = 0xFF;
inline constexpr Word short_fact(FactKind kind, RequestId request) {
  return Word{kShortFact} | Word{static_cast<std::uint8_t>(kind)} << 16 | Word{request} << 32;
}
/// Returns the short fact of a call that did not return.
inline constexpr Word short_left() { return short_fact(FactKind::kLeft, kNoRequest); }
inline constexpr std::uint32_t short_run(Word word) {
  return static_cast<std::uint32_t>(word >> 24 & kMaxShortRun);
}
/// Returns whether the short fact `word` can be extended by a fact of the same kind whose request
/// is the next consecutive one.
inline constexpr bool continues(Word word, FactKind kind, RequestId request) {
  return (word & 0xFFFFFF) == (short_fact(kind, 0) & 0xFFFFFF) &&
         high32(word) + short_run(word) + 1 == request && short_run(word) < kMaxShortRun;
}

/// Returns the number of words of the fact with this first word; 0 if it is not one of a fact.
inline constexpr std::size_t fact_words(Word word) {
  switch (word & 0xFFFF) {
    case kShortFact:
      return kShortWords;
    case kMediumFact:
      return kMediumWords;
    case kWideFact:
      return kWideWords;
    default:
      return 0;
  }
}

/// Writes a fact that does not fold, in its smallest form. Returns the number of words. to: space
/// for kMaxFactWords.
std::size_t encode_fact(const Fact& fact, Word* to) noexcept;

}  // namespace megascope::encoding
