#include "core/encoding/call_decoder.h"

#include "core/encoding/decode_words.h"

#include <algorithm>

namespace megascope::encoding {

namespace {

/// Returns whether the fact starts something that a short fact may complete.
bool is_start(FactKind kind) {
  return kind == FactKind::kRecvRequest || kind == FactKind::kCollectiveRequest ||
         kind == FactKind::kFileReadRequest || kind == FactKind::kFileWriteRequest;
}
/// Returns whether the fact is a completion, whose short form has the request only.
bool is_completion(FactKind kind) {
  return kind == FactKind::kRecvComplete || kind == FactKind::kCollectiveComplete ||
         kind == FactKind::kFileReadComplete || kind == FactKind::kFileWriteComplete;
}

/// Makes the fact of a mark: a call on a file, or one that opens a file on `comm`.
Fact file_collective(CommId comm, FileId file, std::uint32_t number) {
  Fact fact{.kind = FactKind::kFileCollective, .comm = comm};
  if (file == kNoFile) {
    fact.sequence = number;
  } else {
    fact.peer = static_cast<std::int32_t>(file);
    fact.request = number;
  }
  return fact;
}

/// Returns whether the fact's communicator is that of the call.
bool is_on_comm_of_call(FactKind kind) {
  if (kind >= FactKind::kFileOpened && kind <= FactKind::kFileUsed) {
    return !is_completion(kind) && kind != FactKind::kFileTest && kind != FactKind::kFileCancelled;
  }
  return kind <= FactKind::kRecvRequest || kind == FactKind::kCollective ||
         kind == FactKind::kCollectiveRequest || names_window(kind);
}
}  // namespace

bool CallDecoder::decode_mark(std::span<const Word> words, std::uint64_t base_ticks, Call& call,
                              std::vector<Fact>& facts) {
  Fact folded[2];
  std::size_t count = 0;
  call = {};
  facts.clear();
  if (words.size() < kMessageWords) return false;
  const auto kind = static_cast<FactKind>((words[1] >> 48) & 0xFF);
  if (has_fifth_word(kind)) {  // has no space in a mark
    const Word whole[kMaxCallWords] = {words[0], words[1], words[2], words[3], 0};
    if (decode_words(whole, kMaxCallWords, base_ticks, call, folded, count) == 0) return false;
  } else if (call_words(kind) == kBareWords) {
    const Word bare[kBareWords] = {words[0], words[1] & ~(Word{0xFF} << 48)};
    if (decode_words(bare, kBareWords, base_ticks, call, folded, count) == 0) return false;
    if (kind == FactKind::kRequestTest) folded[count++] = {.kind = kind, .bytes = low32(words[3])};
    if (kind == FactKind::kFileCollective)
      folded[count++] = file_collective(call.comm, low32(words[2]), high32(words[3]));
  } else if (decode_words(words.data(), words.size(), base_ticks, call, folded, count) == 0) {
    return false;
  }
  facts.assign(folded, folded + count);
  return true;
}

void CallDecoder::begin_chunk(std::span<const Word> words, std::uint64_t base_ticks) {
  words_ = words;
  at_ = 0;
  base_ticks_ = base_ticks;
}

void CallDecoder::skip_facts() {
  is_holding_ = false;
  facts_.clear();
  while (at_ < words_.size()) {
    const std::size_t size = fact_words(words_[at_]);
    if (size == 0 || size > words_.size() - at_) return;
    at_ += size;
  }
}

bool CallDecoder::resolve(Fact& fact) {
  if (is_start(fact.kind)) {
    if (fact.request != kNoRequest) open_[fact.request] = fact;
    return true;
  }
  const bool repeats_start = is_completion(fact.kind);
  const bool ends = repeats_start || fact.kind == FactKind::kCancelled ||
                    fact.kind == FactKind::kFileCancelled || fact.kind == FactKind::kRequestFreed;
  if (!ends || fact.request == kNoRequest) return true;
  Fact start;
  const bool is_known = open_.take(fact.request, start);
  const bool needs_start = repeats_start &&
                           fact == Fact{.kind = fact.kind, .request = fact.request};
  if (!needs_start) return true;
  if (!is_known) {
    ++unknown_request_count_;
    return false;
  }
  start.kind = fact.kind;
  fact = start;
  return true;
}

bool CallDecoder::decode_fact(std::size_t available) {
  const Word* words = words_.data() + at_;
  const std::size_t size = fact_words(words[0]);
  const auto kind = static_cast<FactKind>((words[0] >> 16) & 0xFF);
  if (size == 0 || size > available || kind == FactKind::kNone || kind > kLastFactKind ||
      !is_holding_)
    return false;
  if (size == kShortWords && short_run(words[0]) != 0) return decode_run(words[0], kind);
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
  } else if (kind == FactKind::kRepeated) {
    held_.count = std::max<std::uint32_t>(fact.request, 1);
    held_.inside_ns = std::min(fact.bytes, held_.leave_ns - held_.enter_ns);
  } else if (kind == FactKind::kUncertain) {
    held_.uncertain_ns = fact.bytes;
  } else if (resolve(fact)) {
    if (held_.comm == kNoComm && is_on_comm_of_call(kind)) {
      held_.comm = fact.comm;  // too large a number for the call's own field
    }
    facts_.push_back(fact);
  }
  return true;
}

bool CallDecoder::decode_run(Word word, FactKind kind) {
  for (std::uint32_t i = 0; i <= short_run(word); ++i) {
    Fact fact{.kind = kind, .request = high32(word) + i};
    if (resolve(fact)) facts_.push_back(fact);
  }
  at_ += kShortWords;
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
  const Word* words = words_.data() + at_;
  const std::size_t available = words_.size() - at_;
  if (is_holding_ || available < kBareWords || ((words[1] >> 56) & kHasFacts) != 0)
    return next_slow_path(call);
  std::size_t fact_count = 0;
  const std::size_t size = decode_words(words, available, base_ticks_, call, folded_, fact_count);
  if (size == 0) return next_slow_path(call);
  for (std::size_t i = 0; i < fact_count; ++i) (void)resolve(folded_[i]);
  if (call.depth == 0) last_outer_word_ = words[0];
  call.facts = {folded_, fact_count};
  at_ += size;
  return true;
}

/// Decodes calls that have more than their own words.
bool CallDecoder::next_slow_path(Call& call) {
  while (at_ < words_.size()) {
    const std::size_t available = words_.size() - at_;
    const Word* words = words_.data() + at_;
    if ((words[0] & 0xFFFF) == kTimeBase && available >= kTimeBaseWords) {
      base_ticks_ = words[1];
      at_ += kTimeBaseWords;
      continue;
    }
    if (!is_region(words[0])) {
      if (decode_fact(available)) continue;
      ++damaged_count_;
      at_ = words_.size();
      break;
    }
    if (is_holding_) return deliver(call);  // a new call ends the facts of the held one
    Fact folded[2];
    std::size_t fact_count = 0;
    const std::size_t size = decode_words(words, available, base_ticks_, held_, folded, fact_count);
    if (size == 0) {
      ++damaged_count_;
      at_ = words_.size();
      break;
    }
    facts_.assign(folded, folded + fact_count);
    for (Fact& fact : facts_) (void)resolve(fact);
    at_ += size;
    if (held_.depth == 0) last_outer_word_ = words[0];
    is_holding_ = true;
    if (((words[1] >> 56) & kHasFacts) == 0) return deliver(call);
  }
  return false;
}

}  // namespace megascope::encoding
