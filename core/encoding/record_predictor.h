#pragma once

#include "core/encoding/packed_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace megascope::encoding {

/// Predicts the fields of a chunk's next record from the records before it, the same way when
/// packing and when unpacking. Two tables of records that were seen:
/// - exact: found by the last three records and the number of equal ones in a row, compared by what
///   a repetition leaves unchanged (function, communicator, peer, sizes; not tags, requests and
///   sequence numbers);
/// - similar: found by the kinds of the last two records. Used where the exact table has no entry.
/// An entry predicts each field as its last value plus its last difference. docs/trace_format.md
/// has the arithmetic. 34 KiB; must be reset() before the first chunk, and before each further one.
class RecordPredictor {
 public:
  /// A record that was seen in some context.
  struct Entry {
    Fields fields;
    Fields stride;      ///< added to `fields` for the prediction
    std::uint32_t tag;  ///< context of an exact entry; 0: empty
    RecordShape shape;  ///< 0: nothing is predicted
  };

  void reset() noexcept;

  /// Returns the entry that predicts the next record.
  Entry& next() noexcept {
    Entry* const pair = exact_[exact_context_ >> kExactShift];
    const std::uint32_t searched = tag();
    if (pair[0].tag == searched) return pair[0];
    return pair[1].tag == searched ? pair[1] : similar_[similar_context()];
  }

  /// Learns that the record was as `entry`, the result of next(), predicted. predicted: its fields.
  void confirm(Entry& entry, const Fields& predicted) noexcept {
    entry.fields = predicted;
    if (is_similar(entry)) remember(predicted, entry.shape);
    advance(predicted, entry.shape);
  }
  /// Learns what the record was that `entry`, the result of next(), did not predict.
  void correct(Entry& entry, const Fields& actual, RecordShape shape) noexcept;

 private:
  static constexpr unsigned kExactBits = 7;  ///< of the number of pairs
  static constexpr unsigned kExactShift = 64 - kExactBits;
  static constexpr unsigned kSimilarBits = 6;
  static constexpr std::uint64_t kFactors[4] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F,
                                                0x165667B19E3779F9, 0xD6E8FEB86659FD93};
  static constexpr std::uint64_t kMaxRun = 31;

  bool is_similar(const Entry& entry) const noexcept {
    return &entry >= similar_ && &entry < similar_ + (std::size_t{1} << kSimilarBits);
  }
  std::uint32_t tag() const noexcept {
    return static_cast<std::uint32_t>(exact_context_ >> 16) | 1;
  }
  std::size_t similar_context() const noexcept {
    return (kinds_ * kFactors[0]) >> (64 - kSimilarBits);
  }
  void remember(const Fields& fields, RecordShape shape) noexcept;

  /// Makes the record the last one of the context.
  void advance(const Fields& fields, RecordShape shape) noexcept {
    std::uint64_t hash = ((fields[0] ^ fields[2]) | std::uint64_t{fields[3]} << 32) * kFactors[0];
    if (class_of(shape) != RecordClass::kTimed)
      hash ^= (fields[4] | std::uint64_t{fields[6]} << 32) * kFactors[1];
    hash ^= hash >> 32;
    run_ = hash == before_[0] ? std::min(run_ + 1, kMaxRun) : 0;
    exact_context_ = hash * kFactors[0] + before_[0] * kFactors[1] + before_[1] * kFactors[2] +
                     run_ * kFactors[3];
    before_[1] = before_[0];
    before_[0] = hash;
    kinds_ = (kinds_ << 32 | fields[0]) & 0x00FFFFFF00FFFFFF;
  }

  Entry exact_[std::size_t{1} << kExactBits][2];
  Entry similar_[std::size_t{1} << kSimilarBits];
  std::uint8_t oldest_[std::size_t{1} << kExactBits];  ///< of each pair, which is replaced next
  std::uint64_t before_[2];                            ///< hashes of the last two records
  std::uint64_t run_;  ///< how often the last record occurred in a row, less one
  std::uint64_t exact_context_;
  std::uint64_t kinds_;
};

}  // namespace megascope::encoding
