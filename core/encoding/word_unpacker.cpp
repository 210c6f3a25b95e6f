#include "core/encoding/word_unpacker.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace megascope::encoding {
namespace {

bool is_shape(unsigned shape) {
  const std::size_t words = shape & 0xF;
  if (words == 0 || words > kMaxRecordWords) return false;
  return shape >> 4 < 2 || (shape >> 4 == 2 && words >= kBareWords);
}

/// Returns a number of 1 << code bytes for a gap, of code + 1 bytes for a duration: `bytes`.
std::uint64_t load(const std::byte* from, std::size_t bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, from, sizeof number);
  return bytes == 8 ? number : number & ((std::uint64_t{1} << 8 * bytes) - 1);
}

/// Numbers by their size codes.
constexpr std::uint32_t kMasks[4] = {0, 0xFF, 0xFFFF, 0xFFFFFFFF};
constexpr std::uint8_t kSizes[4] = {0, 1, 2, 4};

/// Bytes behind the last record that are read and ignored.
constexpr std::size_t kReadAhead = kMaxPackedRecordBytes;

}  // namespace

/// Adds the differences to the predicted fields.
const std::byte* WordUnpacker::read_differences(const std::byte* from, SizeCodes codes,
                                                Fields& fields) noexcept {
  const auto read_number = [&] {
    const unsigned code = codes & 3;
    std::uint32_t number = 0;
    std::memcpy(&number, from, sizeof number);
    from += kSizes[code];
    codes >>= 2;
    return number & kMasks[code];
  };
  // Each vector is made in a register: parts that were stored one by one would be late for a load
  // of the whole.
  for (FieldVector& vector : fields.vectors) {
    const std::uint32_t first = read_number();
    const std::uint32_t second = read_number();
    const std::uint32_t third = read_number();
    const std::uint32_t fourth = read_number();
    const FieldVector number = {first, second, third, fourth};
    vector += number >> 1 ^ (0U - (number & 1U));
    if (codes == 0) break;
  }
  return from;
}

/// Reads what the head and the next byte say of the record's fields. Returns nullptr if it is
/// invalid.
const std::byte* WordUnpacker::read_form(const std::byte* from, unsigned form,
                                         Prediction& prediction) noexcept {
  constexpr auto kEntry = static_cast<unsigned>(PackedForm::kEntry);
  prediction = {};
  if (form < kEntry) {
    prediction.index = RecordPredictor::follower(predictor_.followers(),
                                                 form % RecordPredictor::kFollowers);
    prediction.differs = form >= static_cast<unsigned>(PackedForm::kFollowerDiffers);
  } else {
    const auto number = static_cast<RecordPredictor::Index>(*from++);
    switch (static_cast<PackedForm>(form)) {
      case PackedForm::kEntry:
        prediction.index = number;
        break;
      case PackedForm::kEntryDiffers:
        prediction.index = number;
        prediction.differs = true;
        break;
      case PackedForm::kNewLike:
        prediction.shape = predictor_[number].shape;
        prediction.fields = predictor_[number].fields;
        prediction.differs = prediction.is_new = true;
        return prediction.shape != 0 ? from : nullptr;
      case PackedForm::kNew:
        prediction.shape = number;
        prediction.differs = prediction.is_new = true;
        return is_shape(number) ? from : nullptr;
      default:
        return nullptr;
    }
  }
  const RecordPredictor::Entry& entry = predictor_[prediction.index];
  prediction.shape = entry.shape;
  prediction.fields = entry.predicted();
  return prediction.shape != 0 ? from : nullptr;
}

/// Reads one record. to: space for kMaxRecordWords words, of which `space` may be used. Returns its
/// end, or nullptr if it is invalid. from: kReadAhead bytes can be read.
const std::byte* WordUnpacker::read(const std::byte* from, Word* to, std::size_t space,
                                    std::size_t& word_count) noexcept {
  const auto head = static_cast<unsigned>(*from++);
  Prediction record;
  from = read_form(from, head >> 4, record);
  if (from == nullptr) return nullptr;
  word_count = words_of(record.shape);
  if (word_count > space) return nullptr;
  const bool is_call = class_of(record.shape) == RecordClass::kCall;
  SizeCodes codes = 0;
  if (record.differs) {
    const std::size_t code_bytes = size_code_bytes(record.shape);
    codes = static_cast<SizeCodes>(load(from, code_bytes));
    if (is_call) codes = with_times(codes);
    from += code_bytes;
    if (codes >> 4 * word_count != 0) return nullptr;
  }
  std::uint64_t time = 0;
  std::uint64_t duration = 0;
  if (class_of(record.shape) != RecordClass::kUntimed) {
    const std::size_t gap_bytes = std::size_t{1} << (head & 3);
    time = last_time_ + load(from, gap_bytes);
    from += gap_bytes;
    if (is_call) {
      const std::size_t duration_bytes = (head >> 2 & 3) + 1;
      duration = load(from, duration_bytes);
      from += duration_bytes;
    }
    last_time_ = time + duration;
  }
  if (record.differs) from = read_differences(from, codes, record.fields);
  learn(record, head >> 4);
  Word words[kFieldCount / 2];
  std::memcpy(words, record.fields.vectors, sizeof words);
  words[0] |= time << 16;
  words[1] |= duration;
  if (space >= std::size(words))
    std::memcpy(to, words,
                sizeof words);  // a fixed size; the next records overwrite what is too much
  else
    std::copy_n(words, word_count, to);
  return from;
}

void WordUnpacker::learn(const Prediction& record, unsigned form) noexcept {
  if (record.is_new)
    predictor_.add(record.fields, record.shape);
  else if (form < static_cast<unsigned>(PackedForm::kFollowerDiffers))
    predictor_.confirm(record.index, record.fields);
  else
    predictor_.correct(record.index, record.fields);
}

bool WordUnpacker::unpack(std::span<const std::byte> bytes, std::span<Word> to) noexcept {
  predictor_.reset();
  last_time_ = 0;
  std::byte tail[2 * kReadAhead + 1] = {};  // copy of the last bytes, with zeros behind them
  const std::size_t tail_bytes = std::min(bytes.size(), kReadAhead);
  std::copy_n(bytes.data() + bytes.size() - tail_bytes, tail_bytes, tail);
  const std::byte* at = bytes.data();
  const std::byte* end = bytes.data() + bytes.size();
  bool is_in_tail = false;
  std::size_t done = 0;
  while (done < to.size()) {
    if (!is_in_tail && static_cast<std::size_t>(end - at) <= kReadAhead) {
      at = tail + tail_bytes - (end - at);
      end = tail + tail_bytes;
      is_in_tail = true;
    }
    if (at >= end) return false;
    std::size_t word_count = 0;
    at = read(at, to.data() + done, to.size() - done, word_count);
    if (at == nullptr) return false;
    done += word_count;
  }
  return at == end;
}

}  // namespace megascope::encoding
