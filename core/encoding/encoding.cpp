#include "core/encoding/encoding.h"

namespace megascope::encoding {
namespace {

constexpr std::uint64_t kMediumBytesLimit = std::uint64_t{1} << 48;

Word header(unsigned layout, const Fact& fact) {
  return Word{layout} | Word{static_cast<std::uint8_t>(fact.kind)} << 16 | Word{fact.request} << 32;
}

bool is_short(const Fact& fact) {
  Fact bare{.kind = fact.kind};
  bare.request = fact.request;
  return fact == bare;
}

}  // namespace

std::size_t encode_fact(const Fact& fact, Word* to) noexcept {
  if (is_short(fact)) {
    to[0] = header(kShortFact, fact);
    return kShortWords;
  }
  const bool is_medium = fact.sequence == 0 && fact.bytes_received == 0 &&
                         fact.bytes < kMediumBytesLimit &&
                         (fact.comm < kWideComm || fact.comm == kNoComm);
  if (is_medium) {
    const Word comm = fact.comm == kNoComm ? kWideComm : fact.comm;
    to[0] = header(kMediumFact, fact);
    to[1] = pack(fact.peer, fact.tag);
    to[2] = fact.bytes | comm << 48;
    return kMediumWords;
  }
  to[0] = header(kWideFact, fact);
  to[1] = pack(fact.comm, fact.sequence);
  to[2] = pack(fact.peer, fact.tag);
  to[3] = fact.bytes;
  to[4] = fact.bytes_received;
  return kWideWords;
}

}  // namespace megascope::encoding
