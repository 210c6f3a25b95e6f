#pragma once

#include "core/encoding/record_predictor.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace megascope::encoding {

/// Packs the words of chunks (packed_words.h). Any words can be packed, also damaged ones. One
/// thread at a time. Does not allocate.
class WordPacker {
 public:
  /// Which records the words hold.
  enum class Content { kCalls, kHooks };

  /// Packs `words` into `to`. Returns the number of bytes; 0 if `to` may be too small, which must
  /// have kMaxPackedRecordBytes more than the result.
  std::size_t pack(std::span<const Word> words, Content content, std::span<std::byte> to) noexcept;

 private:
  /// A record: its times, and its fields.
  struct Record {
    Fields fields;
    std::uint64_t time;  ///< sign-extended
    std::uint32_t duration;
    RecordShape shape;
  };
  RecordShape shape_at(const Word* words, std::size_t available, Content content) noexcept;
  std::byte* write(const Record& record, std::byte* to) noexcept;
  std::byte* write_difference(const Record& record, RecordPredictor::Entry& entry,
                              std::byte* to) noexcept;
  std::byte* write_times(const Record& record, unsigned head, std::byte* head_at,
                         std::byte* to) noexcept;

  RecordPredictor predictor_;
  std::uint64_t last_time_ = 0;
  std::size_t extents_left_ = 0;  ///< words of a tensor that follow its record
};

}  // namespace megascope::encoding
