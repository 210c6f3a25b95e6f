#include "core/encoding/call_decoder.h"
#include "core/encoding/decode_words.h"

#include <array>

namespace megascope::encoding {

namespace {

constexpr Word kFactsFlag = Word{kHasFacts} << 56;

/// By the kind in word 1: whether the call has no fact, or has one in its own words.
constexpr auto kIsPlain = [] {
  std::array<bool, 256> all{};
  for (unsigned number = 0; number < all.size(); ++number)
    all[number] = call_words(static_cast<FactKind>(number)) != kBareWords;
  all[static_cast<std::uint8_t>(FactKind::kNone)] = true;
  return all;
}();

/// Returns whether the first two words are a call with a folded fact or none; further facts may
/// follow.
bool is_plain(Word first, Word second) { return is_region(first) && kIsPlain[second >> 48 & 0xFF]; }

/// Returns whether the call has only its own words and possibly a call site. count: at least
/// kMaxCallWords.
[[gnu::always_inline]] inline bool is_foldable(const Word* words, std::size_t count) {
  if (!is_plain(words[0], words[1])) return false;
  if ((words[1] & kFactsFlag) == 0) [[likely]]
    return true;
  const std::size_t own = call_words(static_cast<FactKind>((words[1] >> 48) & 0xFF));
  constexpr Word kPlace = short_fact(FactKind::kCallSite, 0);
  return count >= own + 2 && (words[own] & 0xFFFFFFFF) == kPlace && high32(words[own]) != 0 &&
         is_region(words[own + 1]);
}

}  // namespace

/// Adds such a call; returns its number of words.
[[gnu::always_inline]] inline std::size_t CallDecoder::add_plain(const Word* words,
                                                                 std::uint64_t base_ticks,
                                                                 Profile& profile) {
  const Word second = words[1];
  const auto comm16 = static_cast<std::uint32_t>((second >> 32) & 0xFFFF);
  const auto kind = static_cast<FactKind>((second >> 48) & 0xFF);
  Profile::PlainCall call{.region = static_cast<RegionId>(words[0] & 0xFFFF),
                          .comm = comm16 == kWideComm ? kNoComm : comm16,
                          .depth = static_cast<std::uint8_t>((second >> 56) & kDepthMask),
                          .enter = entry_ticks(words[0], base_ticks),
                          .time = low32(second)};
  if (kind == FactKind::kNone) {
    profile.add_plain(call);
    return kBareWords;
  }
  if (kind == FactKind::kCollective) {
    call.sent = low32(words[3]);
    call.received = high32(words[3]);
    profile.add_collective(call, high32(words[2]), static_cast<std::int32_t>(low32(words[2])));
    return kMessageWords;
  }
  const auto peer = static_cast<std::int32_t>(low32(words[2]));
  if (kind == FactKind::kSendrecv) {
    call.sent = low32(words[4]);
    call.received = high32(words[4]);
    profile.add_exchange(call, peer, static_cast<std::int32_t>(high32(words[2])));
    return kMaxCallWords;
  }
  if (is_folded_sync(kind)) {
    if (kind == FactKind::kWinCreated)
      profile.add_collective(call, high32(words[3]), kNoPeer);
    else
      profile.add_plain(call);
    return kMessageWords;
  }
  if (is_rma_operation(kind)) {
    (is_get(kind) ? call.received : call.sent) = low32(words[3]);
    if (has_fifth_word(kind)) call.received = low32(words[4]);
    profile.add_one_sided(call, peer);
    return call_words(kind);
  }
  if (kind == FactKind::kRecvRequest) {
    const RequestId request = high32(words[3]);
    if (request != kNoRequest) {
      open_[request] = {.kind = kind,
                        .comm = call.comm,
                        .request = request,
                        .peer = peer,
                        .tag = static_cast<std::int32_t>(high32(words[2])),
                        .bytes = low32(words[3])};
    }
    profile.add_message(call, false, peer, 0);
  } else {
    profile.add_message(call, kind != FactKind::kRecv, peer, low32(words[3]));
  }
  return kMessageWords;
}

/// Adds a call whose facts are completions in short form and complete. Returns its number of words;
/// 0 if it is another.
std::size_t CallDecoder::add_completions(std::span<const Word> words, Profile& profile) {
  if (words.size() < kBareWords + 1 || !is_region(words[0]) || (words[1] & kFactsFlag) == 0)
    return 0;
  if (((words[1] >> 48) & 0xFF) != 0) return 0;
  std::size_t end = kBareWords;
  for (; end < words.size() && (words[end] & 0xFFFF) == kShortFact; ++end) {
    const auto kind = static_cast<FactKind>((words[end] >> 16) & 0xFF);
    if (kind == FactKind::kNone || kind > kLastFactKind || kind == FactKind::kDuration ||
        kind == FactKind::kRepeated || kind == FactKind::kUncertain)
      return 0;
  }
  if (end == words.size() || !is_region(words[end])) return 0;
  facts_.clear();
  for (const Word word : words.subspan(kBareWords, end - kBareWords)) {
    const auto kind = static_cast<FactKind>((word >> 16) & 0xFF);
    if (kind == FactKind::kSendComplete) continue;  // counted when it was started
    for (std::uint32_t i = 0; i <= short_run(word); ++i) {
      Fact& fact = facts_.emplace_back(Fact{.kind = kind, .request = high32(word) + i});
      if (!resolve(fact)) facts_.pop_back();
    }
  }
  Call call;
  Fact none[2];
  std::size_t none_count = 0;
  (void)decode_words(words.data(), kBareWords, base_ticks_, call, none, none_count);
  if (call.depth == 0) last_outer_word_ = words[0];
  call.facts = facts_;
  profile.add(call);
  return end;
}

std::uint64_t CallDecoder::add_all_to(Profile& profile) {
  std::uint64_t count = 0;
  for (Call call;;) {
    if (!is_holding_) {
      const Word* at = words_.data() + at_;
      const Word* const end = words_.data() + words_.size();
      const std::uint64_t base_ticks = base_ticks_;
      for (; end - at >= static_cast<std::ptrdiff_t>(kMaxCallWords) &&
             is_foldable(at, static_cast<std::size_t>(end - at));
           ++count) {
        const auto depth = static_cast<std::uint8_t>((at[1] >> 56) & kDepthMask);
        if (depth == 0) last_outer_word_ = at[0];
        const bool has_place = (at[1] & kFactsFlag) != 0;
        const Profile::PlainCall plain{
            .region = static_cast<RegionId>(at[0] & 0xFFFF), .depth = depth, .time = low32(at[1])};
        at += add_plain(at, base_ticks, profile);
        if (has_place) [[unlikely]]
          profile.add_site(plain, high32(*at++) - 1);
      }
      at_ = static_cast<std::size_t>(at - words_.data());
    }
    if (const std::size_t size = is_holding_ ? 0 : add_completions(words_.subspan(at_), profile)) {
      at_ += size;
      ++count;
      continue;
    }
    if (!next(call)) return count;
    profile.add(call);
    count += call.count;
  }
}

}  // namespace megascope::encoding
