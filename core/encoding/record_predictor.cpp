#include "core/encoding/record_predictor.h"

#include <cstring>
#include <limits>

namespace megascope::encoding {
namespace {

/// Returns each difference from -kLimit to kLimit - 1, else 0: larger ones are of sizes and values
/// that follow no rule.
FieldVector small_ones(FieldVector differences) {
  using Signed [[gnu::vector_size(16)]] = std::int32_t;
  constexpr std::uint32_t kLimit = 1024;
  constexpr std::uint32_t kSign = std::uint32_t{1} << 31;  // to compare as signed numbers
  const auto moved = reinterpret_cast<Signed>((differences + kLimit) ^ kSign);
  const Signed is_small = moved < static_cast<std::int32_t>((2 * kLimit) ^ kSign);
  return differences & reinterpret_cast<FieldVector>(is_small);
}

}  // namespace

void RecordPredictor::reset() noexcept {
  std::memset(entries_, 0, sizeof entries_);
  last_ = newest_ = 0;
}

void RecordPredictor::correct(Index index, const Fields& actual) noexcept {
  Entry& entry = entries_[index];
  for (std::size_t i = 0; i < kFieldCount / 4; ++i)
    entry.stride.vectors[i] = small_ones(actual.vectors[i] - entry.fields.vectors[i]);
  entry.fields = actual;
  const std::uint32_t known = followers();
  for (unsigned place = 0; place < kFollowers; ++place) {
    if (follower(known, place) != index) continue;
    last_ = index;
    return;
  }
  follow(index);
}

RecordPredictor::Index RecordPredictor::add(const Fields& fields, RecordShape shape) noexcept {
  newest_ = newest_ == std::numeric_limits<Index>::max() ? 1 : static_cast<Index>(newest_ + 1);
  // Member by member: gcc clears a whole entry with a string instruction, which takes longer.
  Entry& entry = entries_[newest_];
  entry.fields = fields;
  entry.stride = {};
  entry.followers = 0;
  entry.shape = shape;
  follow(newest_);
  return newest_;
}

/// Makes the entry that of the last record, and the latest follower of the one before.
void RecordPredictor::follow(Index index) noexcept {
  std::uint32_t& followers = entries_[last_].followers;
  followers = followers << 8 | index;
  last_ = index;
}

}  // namespace megascope::encoding
