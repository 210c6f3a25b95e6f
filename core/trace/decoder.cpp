#include "core/trace/decoder.h"

namespace megascope::trace {

using namespace encoding;

namespace {

constexpr FactKind kLastFactKind = FactKind::kPersistentInit;

bool is_region(Word word) {
  const auto region = static_cast<unsigned>(word & 0xFFFF);
  return region != kNoRegion && region < kFirstReservedRegion;
}

Fact folded_message(FactKind kind, CommId comm, Word envelope, Word payload) {
  return {.kind = kind, .comm = comm, .request = high32(payload),
          .peer = static_cast<std::int32_t>(low32(envelope)), .tag = static_cast<std::int32_t>(high32(envelope)),
          .bytes = low32(payload)};
}

Fact folded_collective(CommId comm, Word head, Word payload) {
  return {.kind = FactKind::kCollective, .comm = comm, .sequence = high32(head),
          .peer = static_cast<std::int32_t>(low32(head)), .bytes = low32(payload), .bytes_received = high32(payload)};
}

void push_sendrecv(CommId comm, const Word* words, std::vector<Fact>& facts) {
  const Word peers = words[0];
  const Word tags = words[1];
  const Word bytes = words[2];
  facts.push_back({.kind = FactKind::kSend, .comm = comm, .peer = static_cast<std::int32_t>(low32(peers)),
                   .tag = static_cast<std::int32_t>(low32(tags)), .bytes = low32(bytes)});
  facts.push_back({.kind = FactKind::kRecv, .comm = comm, .peer = static_cast<std::int32_t>(high32(peers)),
                   .tag = static_cast<std::int32_t>(high32(tags)), .bytes = high32(bytes)});
}

}  // namespace

bool CallDecoder::decode_call(std::span<const Word> words, std::uint64_t base_ticks, Call& call,
                              std::vector<Fact>& facts) {
  facts.clear();
  if (words.size() < kBareWords || !is_region(words[0])) return false;
  const auto kind = static_cast<FactKind>((words[1] >> 48) & 0xFF);
  const std::size_t size = call_words(kind);
  if (kind != FactKind::kNone && size == kBareWords) return false;
  if (words.size() < size) return false;
  const auto comm16 = static_cast<std::uint32_t>((words[1] >> 32) & 0xFFFF);
  call = {};
  call.enter_ns = entry_ticks(words[0], base_ticks);
  call.leave_ns = call.enter_ns + low32(words[1]);
  call.region = static_cast<RegionId>(words[0] & 0xFFFF);
  call.comm = comm16 == kWideComm ? kNoComm : comm16;
  call.depth = static_cast<std::uint8_t>((words[1] >> 56) & kDepthMask);
  if (is_folded_message(kind)) {
    facts.push_back(folded_message(kind, call.comm, words[2], words[3]));
  } else if (kind == FactKind::kCollective) {
    facts.push_back(folded_collective(call.comm, words[2], words[3]));
  } else if (kind == FactKind::kSendrecv) {
    push_sendrecv(call.comm, words.data() + 2, facts);
  }
  return true;
}

void CallDecoder::begin_chunk(std::span<const Word> words, std::uint64_t base_ticks) {
  words_ = words;
  at_ = 0;
  base_ticks_ = base_ticks;
}

bool CallDecoder::resolve(Fact& fact) {
  if (fact.kind == FactKind::kSendRequest || fact.kind == FactKind::kRecvRequest ||
      fact.kind == FactKind::kCollectiveRequest) {
    if (fact.kind != FactKind::kSendRequest) open_[fact.request] = fact;
    return true;
  }
  const bool ends = fact.kind == FactKind::kRecvComplete || fact.kind == FactKind::kCollectiveComplete ||
                    fact.kind == FactKind::kCancelled || fact.kind == FactKind::kRequestFreed;
  if (!ends) return true;
  const auto found = open_.find(fact.request);
  const bool needs_start = fact.comm == kNoComm && (fact.kind == FactKind::kRecvComplete ||
                                                    fact.kind == FactKind::kCollectiveComplete);
  if (needs_start) {
    if (found == open_.end()) {
      ++unknown_request_count_;
      return false;
    }
    const FactKind kind = fact.kind;
    fact = found->second;
    fact.kind = kind;
  }
  if (found != open_.end()) open_.erase(found);
  return true;
}

bool CallDecoder::decode_fact(std::size_t available) {
  const Word* words = words_.data() + at_;
  const auto layout = static_cast<unsigned>(words[0] & 0xFFFF);
  const std::size_t size = layout == kShortFact    ? kShortWords
                           : layout == kMediumFact ? kMediumWords
                           : layout == kWideFact   ? kWideWords
                                                   : 0;
  const auto kind = static_cast<FactKind>((words[0] >> 16) & 0xFF);
  if (size == 0 || size > available || kind == FactKind::kNone || kind > kLastFactKind || !is_holding_) return false;
  Fact fact{.kind = kind, .request = high32(words[0])};
  if (size == kMediumWords) {
    fact.peer = static_cast<std::int32_t>(low32(words[1]));
    fact.tag = static_cast<std::int32_t>(high32(words[1]));
    fact.bytes = words[2] & ((Word{1} << 48) - 1);
    const auto comm = static_cast<std::uint32_t>(words[2] >> 48);
    fact.comm = comm == kWideComm ? kNoComm : comm;
  } else if (size == kWideWords) {
    fact.comm = low32(words[1]);
    fact.sequence = high32(words[1]);
    fact.peer = static_cast<std::int32_t>(low32(words[2]));
    fact.tag = static_cast<std::int32_t>(high32(words[2]));
    fact.bytes = words[3];
    fact.bytes_received = words[4];
  }
  at_ += size;
  if (kind == FactKind::kDuration) {
    held_.leave_ns = held_.enter_ns + fact.bytes;
  } else if (resolve(fact)) {
    if (held_.comm == kNoComm && (kind <= FactKind::kRecvRequest || kind == FactKind::kCollective ||
                                  kind == FactKind::kCollectiveRequest)) {
      held_.comm = fact.comm;  // too large a number for the call's own field
    }
    facts_.push_back(fact);
  }
  return true;
}

bool CallDecoder::deliver(Call& call) {
  if (!is_holding_) return false;
  is_holding_ = false;
  delivered_.swap(facts_);
  facts_.clear();
  call = held_;
  call.facts = delivered_;
  return true;
}

bool CallDecoder::flush(Call& call) { return deliver(call); }

bool CallDecoder::next(Call& call) {
  while (at_ < words_.size()) {
    const std::size_t available = words_.size() - at_;
    const Word word = words_[at_];
    if ((word & 0xFFFF) == kTimeBase && available >= kTimeBaseWords) {
      base_ticks_ = words_[at_ + 1];
      at_ += kTimeBaseWords;
      continue;
    }
    if (!is_region(word)) {
      if (decode_fact(available)) continue;
      ++damaged_count_;
      at_ = words_.size();
      break;
    }
    if (is_holding_) return deliver(call);  // a new call ends the facts of the one held
    if (!decode_call(words_.subspan(at_), base_ticks_, held_, facts_)) {
      ++damaged_count_;
      at_ = words_.size();
      break;
    }
    for (Fact& fact : facts_) (void)resolve(fact);
    const auto flags = static_cast<unsigned>(words_[at_ + 1] >> 56);
    at_ += call_words(static_cast<FactKind>((words_[at_ + 1] >> 48) & 0xFF));
    if (held_.depth == 0) last_outer_word_ = word;
    is_holding_ = true;
    if ((flags & kHasFacts) == 0) return deliver(call);
  }
  return false;
}

}  // namespace megascope::trace
