#include "core/encoding/record_predictor.h"

namespace megascope::encoding {
namespace {

/// A similar record's difference is taken as a stride only up to this size: larger ones are of
/// sizes and peers that follow no rule.
constexpr std::uint32_t kMaxSimilarStride = 64;

}  // namespace

void RecordPredictor::reset() noexcept {
  std::memset(exact_, 0, sizeof exact_);
  std::memset(similar_, 0, sizeof similar_);
  std::memset(oldest_, 0, sizeof oldest_);
  before_[0] = before_[1] = run_ = exact_context_ = kinds_ = 0;
}

/// Makes the record the entry of the present context in the exact table.
void RecordPredictor::remember(const Fields& fields, RecordShape shape) noexcept {
  const std::size_t pair = exact_context_ >> kExactShift;
  // Member by member: gcc clears a whole entry with a string instruction, which takes longer.
  Entry& entry = exact_[pair][oldest_[pair]];
  entry.fields = fields;
  entry.stride = {};
  entry.tag = tag();
  entry.shape = shape;
  oldest_[pair] ^= 1;
}

void RecordPredictor::correct(Entry& entry, const Fields& actual, RecordShape shape) noexcept {
  using Signed [[gnu::vector_size(16)]] = std::int32_t;
  const bool is_from_similar = is_similar(entry);
  const std::uint32_t limit = is_from_similar ? kMaxSimilarStride : ~std::uint32_t{0};
  for (std::size_t i = 0; i < kFieldCount / 4; ++i) {
    const FieldVector difference = actual.vectors[i] - entry.fields.vectors[i];
    const FieldVector sign = reinterpret_cast<FieldVector>(reinterpret_cast<Signed>(difference) >>
                                                           31);
    const FieldVector distance = (difference ^ sign) - sign;
    const auto is_stride = reinterpret_cast<FieldVector>(distance <= limit);
    entry.stride.vectors[i] = difference & is_stride;
  }
  if (entry.shape != shape) entry.stride = {};
  entry.fields = actual;
  entry.shape = shape;
  if (is_from_similar) remember(actual, shape);
  advance(actual, shape);
}

}  // namespace megascope::encoding
