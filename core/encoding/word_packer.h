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
  struct Record {
    Fields fields;
    const Word* words;  ///< for its times
    RecordShape shape;
  };
  /// The end of a packed record, and the number of its words; 0: it was not packed.
  struct Packed {
    std::byte* end;
    std::size_t words;
  };
  RecordShape shape_at(const Word* words, std::size_t available, Content content) noexcept;
  bool note_extents(const Word* words, std::size_t available) noexcept;
  // words: of which kFieldCount / 2 can be read. available: words up to the end of the chunk.
  Packed write_predicted(const Word* words, std::size_t available, std::byte* to) noexcept;
  Packed write_unpredicted(const Word* words, std::size_t available, Content content,
                           std::byte* to) noexcept;
  RecordPredictor::Index find(const Record& record, std::uint64_t hash) noexcept;
  std::byte* write_known(RecordPredictor::Index index, const Record& record,
                         std::byte* to) noexcept;
  std::byte* write_new(RecordPredictor::Index like, const Record& record, std::byte* to) noexcept;
  std::byte* write_times(const Word* words, RecordShape shape, unsigned head, std::byte* head_at,
                         std::byte* to) noexcept;

  RecordPredictor predictor_;
  std::uint64_t last_time_ = 0;
  std::size_t extents_left_ = 0;  ///< words of a tensor that follow its record
  // Which entry may fit a record that was not predicted; an unpacker is told and need not search.
  RecordPredictor::Index by_content_[1024];  ///< by hash of what a repetition leaves unchanged
  RecordPredictor::Index by_code_[64];       ///< by hash of the record's code: the latest
};

}  // namespace megascope::encoding
