#include "core/trace/hook_decoder.h"

#include "core/encoding/decode_words.h"
#include "core/encoding/hook_words.h"
#include "core/record/cpu_reading.h"

#include <algorithm>
#include <bit>

namespace megascope::trace {

using namespace encoding;

namespace {

unsigned what_of(Word word) { return static_cast<unsigned>(word & 0xFFFF); }
bool is_value(Word word) {
  return what_of(word) == hook_words::kValue || what_of(word) == hook_words::kWideValue;
}

bool is_continued(const HookRecord& record) {
  return std::ranges::any_of(
      record.values, [](const Fact& fact) { return value_name_of(fact) == ValueName::kContinued; });
}

}  // namespace

bool HookDecoder::fail() {
  ++damaged_count_;
  words_ = {};
  return false;
}

bool HookDecoder::next(HookRecord& record) {
  while (words_.size() >= kTimeBaseWords && what_of(words_[0]) == kTimeBase) {
    base_ticks_ = words_[1];
    words_ = words_.subspan(kTimeBaseWords);
  }
  if (words_.empty()) return false;
  const Word word = words_[0];
  record.ticks = entry_ticks(word, base_ticks_);
  if (is_region(word)) {
    record.kind = HookRecord::Kind::kEnter;
    record.region = static_cast<RegionId>(what_of(word));
    words_ = words_.subspan(1);
    return decode_values(record);
  }
  const unsigned what = what_of(word);
  if (what == hook_words::kLeave || what == hook_words::kEnd) {
    record.kind = what == hook_words::kLeave ? HookRecord::Kind::kLeave : HookRecord::Kind::kEnd;
    words_ = words_.subspan(1);
    return true;
  }
  record.kind = HookRecord::Kind::kPoint;
  return decode_point(what, record);
}

bool HookDecoder::decode_values(HookRecord& record) {
  values_.clear();
  while (!words_.empty() && is_value(words_[0])) {
    const auto name = static_cast<ValueName>(static_cast<std::uint8_t>(words_[0] >> 16));
    const bool is_wide = what_of(words_[0]) == hook_words::kWideValue;
    if (is_wide && words_.size() < hook_words::kMaxValueWords) return fail();
    const auto number = is_wide ? static_cast<std::int64_t>(words_[1])
                                : static_cast<std::int32_t>(high32(words_[0]));
    values_.push_back(value_fact(name, number));
    words_ = words_.subspan(is_wide ? 2 : 1);
  }
  record.values = values_;
  return true;
}

bool HookDecoder::decode_point(unsigned what, HookRecord& record) {
  Point& point = record.point;
  point = {};
  if (what == hook_words::kTensor) {
    point.kind = PointKind::kTensor;
    return decode_tensor(point);
  }
  if (what == hook_words::kRangeStart || what == hook_words::kRangeStop)
    return decode_range(what, record);
  const std::size_t size = what == hook_words::kCounter ? hook_words::kCounterWords
                           : what == hook_words::kMark  ? hook_words::kMarkWords
                                                        : 0;
  if (size == 0 || words_.size() < size) return fail();
  point.kind = what == hook_words::kCounter ? PointKind::kCounter : PointKind::kMark;
  point.id = low32(words_[1]);
  if (what == hook_words::kCounter) point.value = std::bit_cast<double>(words_[2]);
  words_ = words_.subspan(size);
  return true;
}

bool HookDecoder::decode_range(unsigned what, HookRecord& record) {
  const bool is_stop = what == hook_words::kRangeStop;
  const std::size_t size = is_stop ? hook_words::kRangeStopWords : hook_words::kRangeStartWords;
  if (words_.size() < size || !is_region(words_[1]) || words_[1] != what_of(words_[1]))
    return fail();
  record.point.kind = is_stop ? PointKind::kRangeStop : PointKind::kRangeStart;
  record.point.id = low32(words_[1]);
  record.point.range = words_[2];
  record.start_ticks = is_stop ? std::min(words_[3], record.ticks) : record.ticks;
  words_ = words_.subspan(size);
  return true;
}

bool HookDecoder::decode_tensor(Point& point) {
  if (words_.size() < hook_words::kTensorWords) return fail();
  const Word head = words_[1];
  TensorShape& shape = point.tensor;
  point.id = low32(head);
  shape.kind = static_cast<TensorKind>(head >> 32 & 0xFF);
  shape.type = static_cast<ElementType>(head >> 40 & 0xFF);
  shape.dimension_count = static_cast<std::uint8_t>(head >> 48 & 0xFF);
  shape.split_dimension = static_cast<std::int8_t>(static_cast<int>(head >> 56) - 1);
  shape.layer = static_cast<std::int32_t>(low32(words_[2]));
  shape.micro_batch = static_cast<std::int32_t>(high32(words_[2]));
  const bool is_known = shape.kind < TensorKind::kCount && shape.type < ElementType::kCount &&
                        shape.dimension_count <= kMaxTensorDimensions &&
                        shape.split_dimension < shape.dimension_count;
  words_ = words_.subspan(hook_words::kTensorWords);
  if (!is_known || words_.size() < shape.dimension_count) return fail();
  for (unsigned i = 0; i < shape.dimension_count; ++i) shape.extents[i] = words_[i];
  words_ = words_.subspan(shape.dimension_count);
  return true;
}

/// Ends the innermost region.
[[gnu::always_inline]] inline void HookDecoder::add_leave(std::uint64_t ticks, Profile& profile) {
  if (open_.empty()) return;
  const Open& inner = open_.back();
  const std::uint64_t time = ticks > inner.ticks ? ticks - inner.ticks : 0;
  profile.add_region(
      {.region = inner.region, .count = inner.continues ? 0U : 1U, .time = time, .max_time = time});
  open_.pop_back();
}

/// Adds entries without numbers, and leaves, until another record follows. Returns the number of
/// entries.
std::uint64_t HookDecoder::add_plain(Profile& profile) {
  std::uint64_t count = 0;
  const Word* at = words_.data();
  const Word* const end = at + words_.size();
  for (; at != end; ++at) {
    if (what_of(*at) == hook_words::kLeave) {
      add_leave(entry_ticks(*at, base_ticks_), profile);
    } else if (is_region(*at) && (at + 1 == end || !is_value(at[1]))) {
      open_.push_back({static_cast<RegionId>(what_of(*at)), false, entry_ticks(*at, base_ticks_)});
      ++count;
    } else {
      break;
    }
  }
  words_ = {at, end};
  return count;
}

void HookDecoder::add_range(const HookRecord& record, Profile& profile) {
  const auto name = static_cast<RegionId>(record.point.id);
  if (record.point.kind == PointKind::kRangeStart) profile.add_range_start(name);
  if (record.point.kind == PointKind::kRangeStop)
    profile.add_range_stop(name, record.ticks - record.start_ticks);
}

std::uint64_t HookDecoder::add_all_to(Profile& profile) {
  std::uint64_t count = 0;
  for (HookRecord record;;) {
    count += add_plain(profile);
    if (!next(record)) return count;
    switch (record.kind) {
      case HookRecord::Kind::kEnter:
        open_.push_back({record.region, is_continued(record), record.ticks});
        ++count;
        break;
      case HookRecord::Kind::kLeave:
        add_leave(record.ticks, profile);
        break;
      case HookRecord::Kind::kEnd:
        while (!open_.empty()) add_leave(record.ticks, profile);
        break;
      case HookRecord::Kind::kPoint:
        add_range(record, profile);
        count += is_cpu_counter(record.point) ? 0 : 1;
    }
  }
}

}  // namespace megascope::trace
