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
struct alignas(sizeof(FieldVector)) FieldBits {
  Word words[kFieldCount / 2];

  Fields of(const Fields& all) const noexcept {
    Fields bits;
    std::memcpy(bits.vectors, words, sizeof bits.vectors);
    return all & bits;
  }
};
constexpr auto kFieldBits = [] {
  std::array<FieldBits, kShapeCount> all{};
  for (unsigned shape = 0; shape < kShapeCount; ++shape) {
    Word* const bits = all[shape].words;
    const auto record_class = class_of(static_cast<RecordShape>(shape));
    for (std::size_t i = 0; i < words_of(static_cast<RecordShape>(shape)) && i < kFieldCount / 2;
         ++i)
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

  bool are_none() const noexcept { return codes_ == 0; }
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

/// Reads kFieldCount / 2 words.
Fields load_fields(const Word* words) noexcept {
  Fields fields;
  for (std::size_t i = 0; i < kFieldCount / 4; ++i)
    std::memcpy(&fields.vectors[i], words + 2 * i, sizeof fields.vectors[i]);
  return fields;
}

constexpr std::uint64_t kFactors[2] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F};

/// Returns ~0 if fields 4 and 6 of such records are the same in each repetition: a peer and a size.
constexpr std::uint32_t has_peer(RecordShape shape) {
  return class_of(shape) == RecordClass::kTimed ? 0 : ~std::uint32_t{0};
}

/// Hash of what a repetition leaves unchanged: function, communicator, peer and sizes; not tags,
/// requests, sequence numbers and values.
std::uint64_t content_hash(const Fields& fields, RecordShape shape) noexcept {
  const std::uint64_t peer = fields[4] & has_peer(shape);
  const std::uint64_t size = fields[6] & has_peer(shape);
  const std::uint64_t hash = ((fields[0] ^ fields[2]) | std::uint64_t{fields[3]} << 32) *
                                 kFactors[0] ^
                             (peer | size << 32) * kFactors[1];
  return (hash ^ hash >> 32) * kFactors[0];
}

/// Without branches: of records that follow no rule, each result is as likely.
bool has_content_of(const RecordPredictor::Entry& entry, const Fields& fields,
                    RecordShape shape) noexcept {
  const std::uint32_t head = (entry.fields[0] ^ fields[0]) | (entry.fields[2] ^ fields[2]) |
                             (entry.fields[3] ^ fields[3]);
  const std::uint32_t rest = (entry.fields[4] ^ fields[4]) | (entry.fields[6] ^ fields[6]);
  return (head | (rest & has_peer(shape)) | unsigned(entry.shape ^ shape)) == 0;
}

}  // namespace

/// Returns the shape of the record at `words`, of which there are `available`.
RecordShape WordPacker::shape_at(const Word* words, std::size_t available,
                                 Content content) noexcept {
  RecordShape shape = 0;
  if (content == Content::kHooks) {
    if (note_extents(words, available)) return shape_of(RecordClass::kUntimed, 1);
    shape = shape_of_hook(static_cast<unsigned>(words[0] & 0xFFFF));
  } else if (is_region(words[0])) {
    return shape_of_call(words, available);
  } else {
    shape = shape_of_fact(words[0]);
  }
  return words_of(shape) <= available ? shape : shape_of(RecordClass::kUntimed, 1);
}

/// Returns whether the word is an extent of a tensor, and notes how many follow a tensor's record.
bool WordPacker::note_extents(const Word* words, std::size_t available) noexcept {
  if (extents_left_ > 0) {
    --extents_left_;
    return true;
  }
  if ((words[0] & 0xFFFF) == hook_words::kTensor && available > 1)
    extents_left_ = words[1] >> 48 & 0xFF;
  return false;
}

/// Writes the head to `head_at` and the times to `to`.
[[gnu::always_inline]] inline std::byte* WordPacker::write_times(const Word* words,
                                                                 RecordShape shape, unsigned head,
                                                                 std::byte* head_at,
                                                                 std::byte* to) noexcept {
  if (class_of(shape) != RecordClass::kUntimed) {
    const auto time = static_cast<std::uint64_t>(static_cast<std::int64_t>(words[0]) >> 16);
    const std::uint64_t gap = time - last_time_;
    const unsigned gap_code = unsigned{gap > 0xFF} + unsigned{gap > 0xFFFF} +
                              unsigned{gap > 0xFFFFFFFF};
    store(to, gap);
    to += std::size_t{1} << gap_code;
    head |= gap_code;
    last_time_ = time;
    if (class_of(shape) == RecordClass::kCall) {
      const std::uint32_t duration = low32(words[1]);
      const unsigned duration_code = unsigned{duration > 0xFF} + unsigned{duration > 0xFFFF} +
                                     unsigned{duration > 0xFFFFFF};
      store(to, duration);
      to += duration_code + 1;
      head |= duration_code << 2;
      last_time_ = time + duration;
    }
  }
  *head_at = static_cast<std::byte>(head);
  return to;
}

/// Returns the entry of an earlier record with the same content; 0 if there is none.
RecordPredictor::Index WordPacker::find(const Record& record, std::uint64_t hash) noexcept {
  const RecordPredictor::Index index = by_content_[hash >> 54];
  return has_content_of(predictor_[index], record.fields, record.shape) ? index
                                                                        : RecordPredictor::Index{0};
}

/// Writes a record of an entry.
std::byte* WordPacker::write_known(RecordPredictor::Index index, const Record& record,
                                   std::byte* to) noexcept {
  std::byte* const head_at = to++;
  const Differences differences(record.fields, predictor_[index].predicted(),
                                words_of(record.shape));
  auto form = static_cast<unsigned>(PackedForm::kFollowerDiffers);
  const std::uint32_t followers = predictor_.followers();
  unsigned place = 0;
  while (place < RecordPredictor::kFollowers &&
         RecordPredictor::follower(followers, place) != index)
    ++place;
  if (place < RecordPredictor::kFollowers && !differences.are_none()) {
    form += place;
  } else {
    *to++ = static_cast<std::byte>(index);
    form = static_cast<unsigned>(differences.are_none() ? PackedForm::kEntry
                                                        : PackedForm::kEntryDiffers);
  }
  if (!differences.are_none()) to = differences.write_codes(record.shape, to);
  to = write_times(record.words, record.shape, form << 4, head_at, to);
  predictor_.correct(index, record.fields);
  return differences.are_none() ? to : differences.write_numbers(to);
}

/// Writes a new record. like: an entry of its shape; 0: none.
std::byte* WordPacker::write_new(RecordPredictor::Index like, const Record& record,
                                 std::byte* to) noexcept {
  std::byte* const head_at = to++;
  const PackedForm form = like != 0 ? PackedForm::kNewLike : PackedForm::kNew;
  *to++ = static_cast<std::byte>(like != 0 ? like : record.shape);
  const Differences differences(record.fields, predictor_[like].fields, words_of(record.shape));
  to = differences.write_codes(record.shape, to);
  to = write_times(record.words, record.shape, static_cast<unsigned>(form) << 4, head_at, to);
  return differences.write_numbers(to);
}

/// Packs the record at `words` if a follower of the last one predicts it.
[[gnu::always_inline]] inline WordPacker::Packed WordPacker::write_predicted(
    const Word* words, std::size_t available, std::byte* to) noexcept {
  const Fields all = load_fields(words);
  std::uint32_t followers = predictor_.followers();
  for (unsigned head = 0; static_cast<RecordPredictor::Index>(followers) != 0; head += 1U << 4) {
    const auto index = static_cast<RecordPredictor::Index>(followers);
    const RecordPredictor::Entry& entry = predictor_[index];
    const Fields predicted = entry.predicted();
    const RecordShape shape = entry.shape;
    if (predicted == kFieldBits[shape].of(all) && words_of(shape) <= available) {
      predictor_.confirm(index, predicted);
      return {write_times(words, shape, head, to, to + 1), words_of(shape)};
    }
    followers >>= 8;
  }
  return {to, 0};
}

/// Packs the record at `words`, whichever it is.
[[gnu::noinline]] WordPacker::Packed WordPacker::write_unpredicted(const Word* words,
                                                                   std::size_t available,
                                                                   Content content,
                                                                   std::byte* to) noexcept {
  const RecordShape shape = shape_at(words, available, content);
  const Record record{kFieldBits[shape].of(load_fields(words)), words, shape};
  const std::uint64_t hash = content_hash(record.fields, shape);
  RecordPredictor::Index& latest = by_code_[record.fields[0] * kFactors[0] >> 58];
  RecordPredictor::Index index = find(record, hash);
  if (index != 0) {
    to = write_known(index, record, to);
  } else {
    const bool is_like_latest = predictor_[latest].shape == shape;
    to = write_new(is_like_latest ? latest : RecordPredictor::Index{0}, record, to);
    index = predictor_.add(record.fields, shape);
  }
  by_content_[hash >> 54] = latest = index;
  return {to, words_of(shape)};
}

std::size_t WordPacker::pack(std::span<const Word> words, Content content,
                             std::span<std::byte> to) noexcept {
  predictor_.reset();
  std::memset(by_content_, 0, sizeof by_content_);
  std::memset(by_code_, 0, sizeof by_code_);
  last_time_ = 0;
  extents_left_ = 0;
  std::byte* at = to.data();
  const std::byte* const end = to.data() + to.size();
  Word last_words[kFieldCount / 2] = {};  // of the last records, beyond which is read
  for (std::size_t i = 0; i < words.size();) {
    if (end - at < static_cast<std::ptrdiff_t>(kMaxPackedRecordBytes)) return 0;
    const std::size_t available = words.size() - i;
    const Word* from = words.data() + i;
    if (available < kFieldCount / 2) {
      std::copy_n(from, available, last_words);
      from = last_words;
    }
    Packed packed = write_predicted(from, available, at);
    if (packed.words == 0)
      packed = write_unpredicted(from, available, content, at);
    else if (content == Content::kHooks)
      (void)note_extents(from, available);
    at = packed.end;
    i += packed.words;
  }
  return static_cast<std::size_t>(at - to.data());
}

}  // namespace megascope::encoding
