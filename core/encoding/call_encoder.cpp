#include "core/encoding/call_encoder.h"

#include "core/encoding/decode_words.h"

#include <algorithm>

namespace megascope::encoding {
namespace {

bool is_completion(FactKind kind) {
  return kind == FactKind::kRecvComplete || kind == FactKind::kCollectiveComplete;
}

/// Returns how many of the call's first facts its own words hold, and fills `folded`. A folded fact
/// must decode to the same fact.
std::size_t fold_first(const CallWords& words, std::span<const Fact> facts,
                       std::uint64_t base_ticks, Folded& folded) {
  const auto reads_back = [&](std::size_t count) {
    Word own[kMaxCallWords] = {};
    (void)encode_call(own, words, folded, base_ticks, false);
    Call call;
    Fact decoded[2];
    std::size_t decoded_count = 0;
    if (decode_words(own, kMaxCallWords, base_ticks, call, decoded, decoded_count) == 0)
      return false;
    return decoded_count == count && std::equal(decoded, decoded + count, facts.begin());
  };
  if (facts.size() > 1 && facts[0].kind == FactKind::kSend && facts[1].kind == FactKind::kRecv) {
    Fact main = facts[0];
    main.kind = FactKind::kSendrecv;
    if (folds(main, facts[1], words.comm)) folded = fold(main, facts[1]);
    if (folded.kind != FactKind::kNone && reads_back(2)) return 2;
  }
  folded = {};
  if (!facts.empty() && call_words(facts[0].kind) != kBareWords &&
      folds(facts[0], {}, words.comm)) {
    folded = fold(facts[0], {});
    if (reads_back(1)) return 1;
  }
  folded = {};
  return 0;
}

}  // namespace

/// Shortens a completion that repeats its start. Operations in flight are tracked as the reader
/// tracks them.
Fact CallEncoder::shortened(const Fact& fact) {
  if (fact.kind == FactKind::kRecvRequest || fact.kind == FactKind::kCollectiveRequest) {
    if (fact.request != kNoRequest) open_[fact.request] = fact;
    return fact;
  }
  Fact start;
  if (!is_completion(fact.kind) || fact.request == kNoRequest || !open_.take(fact.request, start))
    return fact;
  start.kind = fact.kind;
  return start == fact ? Fact{.kind = fact.kind, .request = fact.request} : fact;
}

std::vector<Fact> CallEncoder::split(const Call& call, std::span<const Fact> facts,
                                     const CallWords& words, std::uint64_t base_ticks,
                                     Folded& folded) {
  std::vector<Fact> rest(facts.begin(), facts.end());
  const auto own = static_cast<std::ptrdiff_t>(fold_first(words, rest, base_ticks, folded));
  for (Fact& fact : rest) fact = shortened(fact);
  rest.erase(rest.begin(), rest.begin() + own);
  const std::uint64_t duration = call.leave_ns - call.enter_ns;
  if (duration >= kLongDuration)
    rest.insert(rest.begin(), {.kind = FactKind::kDuration, .bytes = duration});
  if (call.count > 1)
    rest.insert(rest.begin(),
                {.kind = FactKind::kRepeated, .request = call.count, .bytes = call.inside_ns});
  if (call.uncertain_ns != 0)
    rest.push_back({.kind = FactKind::kUncertain, .bytes = call.uncertain_ns});
  return rest;
}

Folded CallEncoder::fold_posted(std::span<const Fact> posted) {
  Fact main = posted.empty() ? Fact{} : posted[0];
  if (posted.size() > 1 && main.kind == FactKind::kSend && posted[1].kind == FactKind::kRecv)
    main.kind = FactKind::kSendrecv;
  Folded folded = fold(main, posted.size() > 1 ? posted[1] : Fact{});
  if (main.kind == FactKind::kRequestTest)
    folded.words[1] = pack(static_cast<std::uint32_t>(main.bytes), 0U);
  return folded;
}

}  // namespace megascope::encoding
