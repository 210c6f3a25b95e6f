#pragma once

#include "core/encoding/packed_words.h"

#include <cstddef>
#include <cstdint>

namespace megascope::encoding {

/// Predicts the next record of a chunk from the records before it, the same way when packing and
/// when unpacking. Records that were seen are entries; each entry has the last four entries whose
/// records followed its own. A loop thus becomes a cycle of entries, in which the next record is
/// found without a search. An entry predicts each field as its last value plus its last small
/// difference. docs/trace_format.md has the arithmetic. 28 KiB; must be reset() before the first
/// chunk, and before each further one.
class RecordPredictor {
 public:
  /// Number of an entry; 0: none.
  using Index = std::uint8_t;
  static constexpr unsigned kFollowers = 4;

  /// A record that was seen.
  struct alignas(128) Entry {
    Fields fields;
    Fields stride;            ///< added to `fields` for the prediction
    std::uint32_t followers;  ///< Index of the latest in the lowest byte
    RecordShape shape;        ///< 0: the entry is not used

    Fields predicted() const noexcept { return fields + stride; }
  };

  void reset() noexcept;

  /// Returns the entries that followed the last record's: Entry::followers.
  std::uint32_t followers() const noexcept { return entries_[last_].followers; }
  static Index follower(std::uint32_t followers, unsigned place) noexcept {
    return static_cast<Index>(followers >> 8 * place);
  }
  Entry& operator[](Index index) noexcept { return entries_[index]; }

  /// Learns that the next record was as an entry in followers() predicted. predicted: its fields.
  void confirm(Index index, const Fields& predicted) noexcept {
    entries_[index].fields = predicted;
    last_ = index;
  }
  /// Learns that the next record was that of an entry, with these fields.
  void correct(Index index, const Fields& actual) noexcept;
  /// Learns that the next record was a new one, which replaces the oldest entry. Returns its entry.
  Index add(const Fields& fields, RecordShape shape) noexcept;

 private:
  void follow(Index index) noexcept;

  Entry entries_[256];
  Index last_;    ///< entry of the last record
  Index newest_;  ///< entry that was made last
};

}  // namespace megascope::encoding
