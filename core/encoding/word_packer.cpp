#include "core/encoding/word_packer.h"

#include "core/encoding/decode_words.h"
#include "core/encoding/hook_words.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace megascope::encoding {
namespace {

constexpr auto kShapesOfCalls = [] {
  std::array<RecordShape, 256> all{};
  for (unsigned kind = 0; kind < all.size(); ++kind)
    all[kind] = shape_of(RecordClass::kCall, call_words(static_cast<FactKind>(kind)));
  return all;
}();

RecordShape shape_of_call(const Word* words, std::size_t available) noexcept {
  const RecordShape shape = kShapesOfCalls[words[1] >> 48 & 0xFF];
  return words_of(shape) <= available ? shape : shape_of(RecordClass::kUntimed, 1);
}

RecordShape shape_of_fact(Word word) noexcept {
  const std::size_t size = (word & 0xFFFF) == kTimeBase ? kTimeBaseWords : fact_words(word);
  return shape_of(RecordClass::kUntimed, std::max<std::size_t>(size, 1));
}

RecordShape shape_of_hook(unsigned code) noexcept {
  using namespace hook_words;
  switch (code) {
    case kValue:
      return shape_of(RecordClass::kUntimed, 1);
    case kWideValue:
      return shape_of(RecordClass::kUntimed, 2);
    case kTimeBase:
      return shape_of(RecordClass::kUntimed, kTimeBaseWords);
    case kCounter:
      return shape_of(RecordClass::kTimed, kCounterWords);
    case kMark:
      return shape_of(RecordClass::kTimed, kMarkWords);
    case kTensor:
      return shape_of(RecordClass::kTimed, kTensorWords);
    case kRangeStart:
      return shape_of(RecordClass::kTimed, kRangeStartWords);
    case kRangeStop:
      return shape_of(RecordClass::kTimed, kRangeStopWords);
    default:
      return shape_of(RecordClass::kTimed, 1);  // a region, a leave, an end
  }
}

/// Writes the lower bytes of a number, of which `to` keeps as many as its caller counts.
template <class Number>
void store(std::byte* to, Number number) noexcept {
  std::memcpy(to, &number, sizeof number);
}

constexpr std::size_t kShapeCount = shape_of(RecordClass::kCall, kMaxRecordWords) + std::size_t{1};

/// Bits of a record's words that are fields, by shape.
using FieldBits = std::array<Word, kFieldCount / 2>;
constexpr auto kFieldBits = [] {
  std::array<FieldBits, kShapeCount> all{};
  for (unsigned shape = 0; shape < kShapeCount; ++shape) {
    FieldBits& bits = all[shape];
    const auto record_class = class_of(static_cast<RecordShape>(shape));
    for (std::size_t i = 0; i < words_of(static_cast<RecordShape>(shape)) && i < bits.size(); ++i)
      bits[i] = ~Word{0};
    if (record_class != RecordClass::kUntimed) bits[0] &= 0xFFFF;
    if (record_class == RecordClass::kCall) bits[1] &= ~Word{0xFFFFFFFF};
  }
  return all;
}();

/// A record's fields minus their predictions.
class Differences {
 public:
  /// words: of the record, and those that were predicted for it have no more.
  Differences(const Fields& fields, const Fields& predicted, std::size_t words) noexcept {
    using Signed [[gnu::vector_size(16)]] = std::int32_t;
    using Pair [[gnu::vector_size(16)]] = std::uint64_t;
    constexpr FieldVector kCodes = {1, 4, 16, 64};
    FieldVector codes = {0, 0, 0, 0};
    const unsigned vectors = words > kUsual / 2 ? kFieldCount / 4 : kUsual / 4;
    for (unsigned i = 0; i < vectors; ++i) {
      const FieldVector difference = fields.vectors[i] - predicted.vectors[i];
      const FieldVector number = difference << 1 ^ reinterpret_cast<FieldVector>(
                                                       reinterpret_cast<Signed>(difference) >> 31);
      const auto has_first = reinterpret_cast<FieldVector>(number != 0);
      const auto has_second = reinterpret_cast<FieldVector>(number >> 8 != 0);
      const auto has_third = reinterpret_cast<FieldVector>(number >> 16 != 0);
      codes |= ((has_first & kCodes) + (has_second & kCodes) + (has_third & kCodes)) << 8 * i;
      const FieldVector sizes = (has_first & 1U) + (has_second & 1U) + (has_third & 2U);
      std::memcpy(numbers_ + 4 * i, &number, sizeof number);
      std::memcpy(sizes_ + 4 * i, &sizes, sizeof sizes);
    }
    const auto halves = reinterpret_cast<Pair>(codes);
    const std::uint64_t both = halves[0] | halves[1];
    codes_ = static_cast<SizeCodes>(both | both >> 32);
  }

  std::byte* write_codes(RecordShape shape, std::byte* to) const noexcept {
    store(to, class_of(shape) == RecordClass::kCall ? without_times(codes_) : codes_);
    return to + size_code_bytes(shape);
  }
  std::byte* write_numbers(std::byte* to) const noexcept {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kUsual; ++i) to = write_number(i, to);
    if (codes_ >> 2 * kUsual == 0) return to;
    for (std::size_t i = kUsual; i < kFieldCount; ++i) to = write_number(i, to);
    return to;
  }

 private:
  static constexpr std::size_t kUsual = 8;  // fields of four words

  std::byte* write_number(std::size_t index, std::byte* to) const noexcept {
    store(to, numbers_[index]);
    return to + sizes_[index];
  }

  SizeCodes codes_;
  std::uint32_t numbers_[kFieldCount];  ///< zigzag
  std::uint32_t sizes_[kFieldCount];    ///< in bytes
};

/// Reads the fields of the record at `words`, of which kFieldCount / 2 can be read.
void split(const Word* words, RecordShape shape, Fields& fields) noexcept {
  Fields bits;
  std::memcpy(bits.vectors, kFieldBits[shape].data(), sizeof bits.vectors);
  std::memcpy(fields.vectors, words, sizeof fields.vectors);
  fields = fields & bits;
}

}  // namespace

/// Returns the shape of the record at `words`, of which there are `available`.
RecordShape WordPacker::shape_at(const Word* words, std::size_t available,
                                 Content content) noexcept {
  if (extents_left_ > 0) {
    --extents_left_;
    return shape_of(RecordClass::kUntimed, 1);
  }
  const auto code = static_cast<unsigned>(words[0] & 0xFFFF);
  RecordShape shape = 0;
  if (content == Content::kHooks) {
    shape = shape_of_hook(code);
    if (code == hook_words::kTensor && available > 1) extents_left_ = words[1] >> 48 & 0xFF;
  } else if (is_region(words[0])) {
    return shape_of_call(words, available);
  } else {
    shape = shape_of_fact(words[0]);
  }
  return words_of(shape) <= available ? shape : shape_of(RecordClass::kUntimed, 1);
}

std::byte* WordPacker::write_times(const Record& record, unsigned head, std::byte* head_at,
                                   std::byte* to) noexcept {
  if (class_of(record.shape) != RecordClass::kUntimed) {
    const std::uint64_t gap = record.time - last_time_;
    const unsigned gap_code = unsigned{gap > 0xFF} + unsigned{gap > 0xFFFF} +
                              unsigned{gap > 0xFFFFFFFF};
    store(to, gap);
    to += std::size_t{1} << gap_code;
    head |= gap_code;
    last_time_ = record.time + record.duration;
    if (class_of(record.shape) == RecordClass::kCall) {
      const unsigned duration_code = unsigned{record.duration > 0xFF} +
                                     unsigned{record.duration > 0xFFFF} +
                                     unsigned{record.duration > 0xFFFFFF};
      store(to, record.duration);
      to += duration_code + 1;
      head |= duration_code << 2;
    }
  }
  *head_at = static_cast<std::byte>(head);
  return to;
}

/// Writes a record that is not as predicted.
std::byte* WordPacker::write_difference(const Record& record, RecordPredictor::Entry& entry,
                                        std::byte* to) noexcept {
  std::byte* const head_at = to++;
  Fields predicted = entry.fields + entry.stride;
  PackedForm form = PackedForm::kFieldsDiffer;
  if (entry.shape != record.shape) {
    form = PackedForm::kNewShape;
    *to++ = static_cast<std::byte>(record.shape);
    predicted = {};
  }
  const Differences differences(record.fields, predicted, words_of(record.shape));
  to = differences.write_codes(record.shape, to);
  to = write_times(record, static_cast<unsigned>(form) << 4, head_at, to);
  to = differences.write_numbers(to);
  predictor_.correct(entry, record.fields, record.shape);
  return to;
}

std::byte* WordPacker::write(const Record& record, std::byte* to) noexcept {
  RecordPredictor::Entry& entry = predictor_.next();
  const Fields predicted = entry.fields + entry.stride;
  if (entry.shape != record.shape || !(predicted == record.fields))
    return write_difference(record, entry, to);
  to = write_times(record, static_cast<unsigned>(PackedForm::kAsPredicted) << 4, to, to + 1);
  predictor_.confirm(entry, record.fields);
  return to;
}

std::size_t WordPacker::pack(std::span<const Word> words, Content content,
                             std::span<std::byte> to) noexcept {
  predictor_.reset();
  last_time_ = 0;
  extents_left_ = 0;
  std::byte* at = to.data();
  const std::byte* const end = to.data() + to.size();
  Record record;
  Word last_words[kFieldCount / 2] = {};  // of the last records, which split() reads beyond
  for (std::size_t i = 0; i < words.size(); i += words_of(record.shape)) {
    if (end - at < static_cast<std::ptrdiff_t>(kMaxPackedRecordBytes)) return 0;
    const std::size_t available = words.size() - i;
    const Word* from = words.data() + i;
    if (available < kFieldCount / 2) {
      std::copy_n(from, available, last_words);
      from = last_words;
    }
    record.shape = shape_at(from, available, content);
    split(from, record.shape, record.fields);
    record.time = static_cast<std::uint64_t>(static_cast<std::int64_t>(from[0]) >> 16);
    record.duration = class_of(record.shape) == RecordClass::kCall ? low32(from[1]) : 0;
    at = write(record, at);
  }
  return static_cast<std::size_t>(at - to.data());
}

}  // namespace megascope::encoding
