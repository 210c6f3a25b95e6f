#pragma once

#include "core/encoding/encoding.h"

#include <cstddef>
#include <cstdint>

/// Packed form of the words of a chunk: bytes that unpack to exactly the same words. Each chunk is
/// packed by itself. docs/trace_format.md, "Packed chunks", is the reference.
///
/// The words are taken as a sequence of records of 1 to 5 words. A record's times are stored as
/// distances from the record before. The rest of a record, its fields, is stored only as far as it
/// differs from a prediction (record_predictor.h). A packed record consists of
/// - a head: bits 0-1 size of the gap, bits 2-3 size of the duration, bits 4-7 PackedForm;
/// - from kEntry on: the number of an entry; with kNew: the shape;
/// - if fields are stored: their size codes, in 1 to 3 bytes;
/// - with a time: the gap, in 1, 2, 4 or 8 bytes; of a call also the duration, in 1, 2, 3 or 4;
/// - if fields are stored: each field minus its prediction, modulo 2^32, as a zigzag number, in 0,
///   1, 2 or 4 bytes for size codes of 0 to 3. Sizes are stored apart from the numbers so that
///   neither packing nor unpacking branches on them.
namespace megascope::encoding {

/// What the first two words of a record contain.
enum class RecordClass : std::uint8_t {
  kUntimed = 0,  ///< no times
  kTimed = 1,    ///< word 0: a time in bits 16-63
  kCall = 2      ///< as kTimed; word 1: a duration in bits 0-31
};

/// Class and number of words of a record; 0: no record.
using RecordShape = std::uint8_t;
inline constexpr RecordShape shape_of(RecordClass record_class, std::size_t words) {
  return static_cast<RecordShape>(static_cast<unsigned>(record_class) << 4 | words);
}
inline constexpr RecordClass class_of(RecordShape shape) {
  return static_cast<RecordClass>(shape >> 4);
}
inline constexpr std::size_t words_of(RecordShape shape) { return shape & 0xFU; }

inline constexpr std::size_t kMaxRecordWords = 5;

/// How the fields of a record are stored.
enum class PackedForm : std::uint8_t {
  kFollower = 0,         ///< 0 to 3: as an entry that followed the last record predicts
  kFollowerDiffers = 4,  ///< 4 to 7: the record of such an entry, with fields that differ
  kEntry = 8,            ///< as an entry predicts
  kEntryDiffers = 9,     ///< the record of an entry, with fields that differ
  kNewLike = 10,         ///< a new record, with the shape of an entry; differs from its fields
  kNew = 11              ///< a new record; the predicted fields are 0
};

/// Fields of a record: field 2w is the lower half of word w, field 2w + 1 the upper half, without
/// times and durations. Fields of words that the record does not have are 0, and so are the last
/// two, which only fill vectors.
inline constexpr std::size_t kFieldCount = 12;
using FieldVector [[gnu::vector_size(16)]] = std::uint32_t;
struct Fields {
  FieldVector vectors[kFieldCount / 4];

  std::uint32_t operator[](std::size_t index) const noexcept {
    return vectors[index / 4][index % 4];
  }
  void add(std::size_t index, std::uint32_t value) noexcept {
    vectors[index / 4][index % 4] += value;
  }
};
inline Fields operator+(const Fields& a, const Fields& b) noexcept {
  return {{a.vectors[0] + b.vectors[0], a.vectors[1] + b.vectors[1], a.vectors[2] + b.vectors[2]}};
}
inline Fields operator&(const Fields& a, const Fields& b) noexcept {
  return {{a.vectors[0] & b.vectors[0], a.vectors[1] & b.vectors[1], a.vectors[2] & b.vectors[2]}};
}
inline bool operator==(const Fields& a, const Fields& b) noexcept {
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  const auto different = reinterpret_cast<Pair>((a.vectors[0] ^ b.vectors[0]) |
                                                (a.vectors[1] ^ b.vectors[1]) |
                                                (a.vectors[2] ^ b.vectors[2]));
  return (different[0] | different[1]) == 0;
}

/// Size codes of a record's fields: 2 bits each, field 0 in the lowest.
using SizeCodes = std::uint32_t;
/// Fields that a call never has are left out: the upper half of word 0 and the lower half of
/// word 1.
inline constexpr SizeCodes without_times(SizeCodes codes) {
  return (codes & 0x3) | (codes >> 4 & ~SizeCodes{0x3});
}
inline constexpr SizeCodes with_times(SizeCodes codes) {
  return (codes & 0x3) | (codes & 0xFFFC) << 4;
}
inline constexpr std::size_t size_code_bytes(RecordShape shape) {
  const std::size_t fields = 2 * words_of(shape) - (class_of(shape) == RecordClass::kCall ? 2 : 0);
  return (fields + 3) / 4;
}

/// Most bytes of a packed record: head, entry or shape, size codes, gap, duration, 4 bytes for each
/// field, and 4 that are written or read beyond the last one.
inline constexpr std::size_t kMaxPackedRecordBytes = 1 + 1 + 3 + 8 + 4 +
                                                     4 * (2 * kMaxRecordWords + 1);

}  // namespace megascope::encoding
