#pragma once

#include "core/encoding/record_predictor.h"

#include <cstddef>
#include <span>

namespace megascope::encoding {

/// Unpacks words that WordPacker packed. Untrusted input: bytes that no packer writes are
/// recognised or give other words, never more than asked for. One thread at a time. Does not
/// allocate.
class WordUnpacker {
 public:
  /// Unpacks `bytes` into exactly `to.size()` words. Returns false if the bytes are not those of
  /// so many words; `to` then holds anything.
  bool unpack(std::span<const std::byte> bytes, std::span<Word> to) noexcept;

 private:
  /// What is known of a record before its differences are read.
  struct Prediction {
    Fields fields;
    RecordShape shape;
    RecordPredictor::Index index;  ///< its entry, unless it is new
    bool differs;
    bool is_new;
  };
  const std::byte* read_form(const std::byte* from, unsigned form, Prediction& prediction) noexcept;
  void learn(const Prediction& record, unsigned form) noexcept;
  const std::byte* read(const std::byte* from, Word* to, std::size_t space,
                        std::size_t& word_count) noexcept;
  const std::byte* read_differences(const std::byte* from, SizeCodes codes,
                                    Fields& fields) noexcept;

  RecordPredictor predictor_;
  std::uint64_t last_time_ = 0;
};

}  // namespace megascope::encoding
