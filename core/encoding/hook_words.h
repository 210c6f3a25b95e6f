#pragma once

#include "core/encoding/encoding.h"
#include "core/record/point.h"
#include "core/record/value_fact.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

/// Encoding of annotations in memory and on disk, in chunks of their own
/// (trace::ChunkKind::kHooks). A record does not cross chunks. docs/trace_format.md is the
/// reference.
///
/// Word 0 of each record is as that of a call: bits 16-63 are the time minus the time base
/// (signed), bits 0-15 a region that is entered or one of these codes:
/// - leave: the innermost region was left
/// - end: all regions were left, because the thread's annotations ended
/// - value: bits 32-63 a signed number that belongs to the region just entered, 16-31 its
///   ValueName; no time
/// - wide value: as value, with the number in the next word
/// - counter: further words counter, bits of the value
/// - mark: further word region (its name)
/// - range start: further words region (its name), number of the range; independent of the thread
/// - range stop: further words region, number, start time in ticks
/// - tensor: further words name | kind << 32 | element type << 40 | dimensions << 48 | (split
///   dimension + 1) << 56, layer | micro-batch << 32, extents
namespace megascope::hook_words {

using encoding::Word;

inline constexpr unsigned kLeave = 0xFFE8;
inline constexpr unsigned kEnd = 0xFFE9;
inline constexpr unsigned kValue = 0xFFEA;
inline constexpr unsigned kWideValue = 0xFFEB;
inline constexpr unsigned kCounter = 0xFFEC;
inline constexpr unsigned kMark = 0xFFED;
inline constexpr unsigned kTensor = 0xFFEE;
inline constexpr unsigned kRangeStart = 0xFFEF;
inline constexpr unsigned kRangeStop = 0xFFF0;

inline constexpr std::size_t kCounterWords = 3;
inline constexpr std::size_t kMarkWords = 2;
inline constexpr std::size_t kRangeStartWords = 3;
inline constexpr std::size_t kRangeStopWords = 4;
inline constexpr std::size_t kTensorWords = 3;  ///< plus one word for each extent
inline constexpr std::size_t kMaxValueWords = 2;

inline constexpr Word timed(std::uint64_t ticks, std::uint64_t base_ticks, unsigned what) {
  return (ticks - base_ticks) << 16 | what;
}

/// Writes a number that belongs to a region. Returns its end. to: space for kMaxValueWords.
inline Word* encode_value(Word* to, ValueName name, std::int64_t value) {
  const Word head = Word{static_cast<std::uint16_t>(name)} << 16;
  if (value == static_cast<std::int32_t>(value)) {
    *to++ = head | kValue | static_cast<Word>(value) << 32;
    return to;
  }
  *to++ = head | kWideValue;
  *to++ = static_cast<Word>(value);
  return to;
}

inline Word* encode_counter(Word* to, std::uint64_t ticks, std::uint64_t base_ticks,
                            CounterId counter, double value) {
  to[0] = timed(ticks, base_ticks, kCounter);
  to[1] = counter;
  to[2] = std::bit_cast<Word>(value);
  return to + kCounterWords;
}

inline Word* encode_mark(Word* to, std::uint64_t ticks, std::uint64_t base_ticks, RegionId name) {
  to[0] = timed(ticks, base_ticks, kMark);
  to[1] = name;
  return to + kMarkWords;
}

inline Word* encode_range_start(Word* to, std::uint64_t ticks, std::uint64_t base_ticks,
                                RegionId name, std::uint64_t range) {
  to[0] = timed(ticks, base_ticks, kRangeStart);
  to[1] = name;
  to[2] = range;
  return to + kRangeStartWords;
}

inline Word* encode_range_stop(Word* to, std::uint64_t ticks, std::uint64_t base_ticks,
                               RegionId name, std::uint64_t range, std::uint64_t start_ticks) {
  to[0] = timed(ticks, base_ticks, kRangeStop);
  to[1] = name;
  to[2] = range;
  to[3] = start_ticks;
  return to + kRangeStopWords;
}

/// Writes a tensor. Returns its end. shape.dimension_count <= kMaxTensorDimensions.
inline Word* encode_tensor(Word* to, std::uint64_t ticks, std::uint64_t base_ticks, TensorId name,
                           const TensorShape& shape) {
  to[0] = timed(ticks, base_ticks, kTensor);
  to[1] = Word{name} | Word{static_cast<std::uint8_t>(shape.kind)} << 32 |
          Word{static_cast<std::uint8_t>(shape.type)} << 40 | Word{shape.dimension_count} << 48 |
          Word{static_cast<std::uint8_t>(shape.split_dimension + 1)} << 56;
  to[2] = encoding::pack(shape.layer, shape.micro_batch);
  to += kTensorWords;
  for (unsigned i = 0; i < shape.dimension_count; ++i) *to++ = shape.extents[i];
  return to;
}

}  // namespace megascope::hook_words
