#include "core/encoding/word_packer.h"

#include "core/encoding/decode_words.h"
#include "core/encoding/hook_words.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace megascope::encoding {
namespace {

RecordShape shape_of_call(const Word* words, std::size_t available) noexcept {
  if (available < kBareWords) return shape_of(RecordClass::kUntimed, 1);
  const std::size_t size = call_words(static_cast<FactKind>(words[1] >> 48 & 0xFF));
  if (size > available) return shape_of(RecordClass::kUntimed, 1);
  return shape_of(RecordClass::kCall, size);
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

/// Writes a LEB128 number, without branches: sizes follow no rule. to: space for 8 bytes.
std::byte* write_varint(std::uint32_t number, std::byte* to) noexcept {
  const std::uint64_t wide = number;
  const std::uint64_t spread = (wide & 0x7F) | (wide & 0x3F80) << 1 | (wide & 0x1FC000) << 2 |
                               (wide & 0xFE00000) << 3 | (wide & 0xF0000000) << 4;
  const auto bits = static_cast<unsigned>(32 - __builtin_clz(number | 1));
  const unsigned size = (bits * 37 + 222) >> 8;  // bits / 7, rounded up
  const std::uint64_t continued = 0x8080808080 & ((std::uint64_t{1} << 8 * (size - 1)) - 1);
  store(to, spread | continued);
  return to + size;
}

constexpr std::uint32_t zigzag(std::uint32_t difference) noexcept {
  return difference << 1 ^ (0U - (difference >> 31));
}

std::byte* write_mask(std::uint32_t mask, RecordShape shape, std::byte* to) noexcept {
  if (class_of(shape) == RecordClass::kCall) {
    *to = static_cast<std::byte>(call_mask(mask));
    return to + 1;
  }
  store(to, static_cast<std::uint16_t>(mask));
  return to + 2;
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

/// Subtracts field by field. Returns the mask of the fields that differ.
std::uint32_t subtract(const Fields& fields, const Fields& predicted,
                       std::uint32_t* differences) noexcept {
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  FieldVector bits = {1, 2, 4, 8};
  FieldVector mask = {0, 0, 0, 0};
  for (std::size_t i = 0; i < kFieldCount / 4; ++i) {
    const FieldVector difference = fields.vectors[i] - predicted.vectors[i];
    std::memcpy(differences + 4 * i, &difference, sizeof difference);
    mask |= reinterpret_cast<FieldVector>(difference != 0) & bits;
    bits <<= 4;
  }
  const auto halves = reinterpret_cast<Pair>(mask);
  const std::uint64_t both = halves[0] | halves[1];
  return static_cast<std::uint32_t>(both | both >> 32);
}

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
  std::uint32_t differences[kFieldCount];
  std::uint32_t mask = subtract(record.fields, predicted, differences);
  to = write_mask(mask, record.shape, to);
  to = write_times(record, static_cast<unsigned>(form) << 4, head_at, to);
  for (; mask != 0; mask &= mask - 1)
    to = write_varint(zigzag(differences[static_cast<unsigned>(__builtin_ctz(mask))]), to);
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
