#pragma once

#include "core/encoding/encoding.h"

#include <cstddef>
#include <cstdint>

/// Decoding of a call's own words, shared by the trace decoder and the profile.
namespace megascope::encoding {

inline bool is_region(Word word) {
  const auto region = static_cast<unsigned>(word & 0xFFFF);
  return region != kNoRegion && region < kFirstReservedRegion;
}

inline Fact folded_message(FactKind kind, CommId comm, Word envelope, Word payload) {
  return {.kind = kind,
          .comm = comm,
          .request = high32(payload),
          .peer = static_cast<std::int32_t>(low32(envelope)),
          .tag = static_cast<std::int32_t>(high32(envelope)),
          .bytes = low32(payload)};
}

inline Fact folded_collective(CommId comm, Word head, Word payload) {
  return {.kind = FactKind::kCollective,
          .comm = comm,
          .sequence = high32(head),
          .peer = static_cast<std::int32_t>(low32(head)),
          .bytes = low32(payload),
          .bytes_received = high32(payload)};
}

inline void split_sendrecv(CommId comm, const Word* words, Fact* facts) {
  const Word peers = words[0];
  const Word tags = words[1];
  const Word bytes = words[2];
  facts[0] = {.kind = FactKind::kSend,
              .comm = comm,
              .peer = static_cast<std::int32_t>(low32(peers)),
              .tag = static_cast<std::int32_t>(low32(tags)),
              .bytes = low32(bytes)};
  facts[1] = {.kind = FactKind::kRecv,
              .comm = comm,
              .peer = static_cast<std::int32_t>(high32(peers)),
              .tag = static_cast<std::int32_t>(high32(tags)),
              .bytes = high32(bytes)};
}

inline Fact folded_rma(FactKind kind, CommId comm, const Word* words) {
  Fact fact{.kind = kind,
            .comm = comm,
            .peer = static_cast<std::int32_t>(low32(words[0])),
            .tag = static_cast<std::int32_t>(high32(words[0]))};
  (is_get(kind) ? fact.bytes_received : fact.bytes) = low32(words[1]);
  (is_folded_sync(kind) ? fact.sequence : fact.request) = high32(words[1]);
  if (is_folded_exchange(kind)) fact.bytes_received = low32(words[2]);
  return fact;
}

/// Decodes a call and the facts in its own words. facts: space for two facts. fact_count: receives
/// the number of facts. Returns the number of words of the call; 0 if the words are not a call.
[[gnu::always_inline]] inline std::size_t decode_words(const Word* words, std::size_t available,
                                                       std::uint64_t base_ticks, Call& call,
                                                       Fact* facts, std::size_t& fact_count) {
  if (available < kBareWords || !is_region(words[0])) return 0;
  const Word second = words[1];
  const auto kind = static_cast<FactKind>((second >> 48) & 0xFF);
  const std::size_t size = call_words(kind);
  if ((kind != FactKind::kNone && size == kBareWords) || available < size) return 0;
  const auto comm16 = static_cast<std::uint32_t>((second >> 32) & 0xFFFF);
  call.enter_ns = entry_ticks(words[0], base_ticks);
  call.leave_ns = call.enter_ns + low32(second);
  call.region = static_cast<RegionId>(words[0] & 0xFFFF);
  call.comm = comm16 == kWideComm ? kNoComm : comm16;
  call.depth = static_cast<std::uint8_t>((second >> 56) & kDepthMask);
  call.is_pending = false;
  call.count = 1;
  call.uncertain_ns = 0;
  fact_count = 0;
  if (kind == FactKind::kNone) return size;
  fact_count = 1;
  if (kind == FactKind::kCollective) {
    facts[0] = folded_collective(call.comm, words[2], words[3]);
  } else if (kind == FactKind::kSendrecv) {
    split_sendrecv(call.comm, words + 2, facts);
    fact_count = 2;
  } else if (is_folded_rma(kind)) {
    facts[0] = folded_rma(kind, call.comm, words + 2);
  } else {
    facts[0] = folded_message(kind, call.comm, words[2], words[3]);
  }
  return size;
}

}  // namespace megascope::encoding
