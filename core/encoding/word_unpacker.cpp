#include "core/encoding/word_unpacker.h"

#include <algorithm>
#include <cstring>

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

constexpr std::uint32_t unzigzag(std::uint32_t number) { return number >> 1 ^ (0U - (number & 1)); }

/// Bytes behind the last record that are read and ignored.
constexpr std::size_t kReadAhead = kMaxPackedRecordBytes;

}  // namespace

/// Reads the fields of the mask. Returns nullptr if a number is too long.
const std::byte* WordUnpacker::read_fields(const std::byte* from, std::uint32_t mask,
                                           Fields& fields) noexcept {
  std::uint64_t is_valid = 1;
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t bytes = load(from, 8);
    const std::uint64_t ends = ~bytes & 0x8080808080;  // the bytes that may be the last
    is_valid &= std::uint64_t{ends != 0};
    const unsigned bits = static_cast<unsigned>(__builtin_ctzll(ends | std::uint64_t{1} << 39)) + 1;
    const std::uint64_t number = bytes & ((std::uint64_t{1} << bits) - 1);
    const std::uint64_t value = (number & 0x7F) | (number >> 1 & 0x3F80) |
                                (number >> 2 & 0x1FC000) | (number >> 3 & 0xFE00000) |
                                (number >> 4 & 0xF0000000);
    fields.add(static_cast<unsigned>(__builtin_ctz(mask)),
               unzigzag(static_cast<std::uint32_t>(value)));
    from += bits / 8;
  }
  return is_valid != 0 ? from : nullptr;
}

/// Reads one record. to: space for kMaxRecordWords words, of which `space` may be used. Returns its
/// end, or nullptr if it is invalid. from: kReadAhead bytes can be read.
const std::byte* WordUnpacker::read(const std::byte* from, Word* to, std::size_t space,
                                    std::size_t& word_count) noexcept {
  RecordPredictor::Entry& entry = predictor_.next();
  Fields fields = entry.fields + entry.stride;
  const auto head = static_cast<unsigned>(*from++);
  const auto form = static_cast<PackedForm>(head >> 4);
  RecordShape shape = entry.shape;
  if (form > PackedForm::kNewShape) return nullptr;
  if (form == PackedForm::kNewShape) {
    shape = static_cast<RecordShape>(*from++);
    if (!is_shape(shape)) return nullptr;
    fields = {};
  }
  word_count = words_of(shape);
  if (word_count == 0 || word_count > space) return nullptr;
  const bool is_call = class_of(shape) == RecordClass::kCall;
  std::uint32_t mask = 0;
  if (form != PackedForm::kAsPredicted) {
    mask = is_call ? mask_of_call(static_cast<std::uint32_t>(load(from, 1)))
                   : static_cast<std::uint32_t>(load(from, 2));
    from += is_call ? 1 : 2;
    if (mask >> 2 * word_count != 0) return nullptr;
  }
  std::uint64_t time = 0;
  std::uint64_t duration = 0;
  if (class_of(shape) != RecordClass::kUntimed) {
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
  if (form == PackedForm::kAsPredicted) {
    predictor_.confirm(entry, fields);
  } else {
    from = read_fields(from, mask, fields);
    if (from == nullptr) return nullptr;
    predictor_.correct(entry, fields, shape);
  }
  Word words[kFieldCount / 2];
  std::memcpy(words, fields.vectors, sizeof words);
  words[0] |= time << 16;
  words[1] |= duration;
  std::copy_n(words, word_count, to);
  return from;
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
