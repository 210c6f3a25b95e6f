#pragma once

#include "core/encoding/encoding.h"
#include "core/profile/profile.h"
#include "core/record/point.h"
#include "core/record/value_fact.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::trace {

/// One record of an annotation. Times in ticks.
struct HookRecord {
  enum class Kind : std::uint8_t {
    kEnter,  ///< the thread entered a region
    kLeave,  ///< the thread left the innermost region
    kEnd,    ///< all regions were left, because the thread's annotations ended
    kPoint   ///< an annotation at one moment
  };
  Kind kind = Kind::kLeave;
  RegionId region = kNoRegion;  ///< kEnter
  std::uint64_t ticks = 0;
  std::span<const Fact>
      values;   ///< kEnter: attributes of the region instance; valid until the next record
  Point point;  ///< kPoint; its times are not set
  std::uint64_t start_ticks = 0;  ///< PointKind::kRangeStop: start of the range
};

/// Decodes the words of a location's hook chunks (core/encoding/hook_words.h), chunk by chunk.
/// Untrusted input: an invalid record ends the chunk and is counted. One thread.
class HookDecoder {
 public:
  /// Begins the next chunk. words: must stay valid while the chunk is read.
  void begin_chunk(std::span<const encoding::Word> words, std::uint64_t base_ticks) {
    words_ = words;
    base_ticks_ = base_ticks;
  }
  /// Reads the next record. Returns false at the end of the chunk.
  bool next(HookRecord& record);
  /// Adds the regions that end in the chunk to a profile, including those that began in an earlier
  /// one. Returns the number of annotations: a region counts once, CPU readings do not count.
  std::uint64_t add_all_to(Profile& profile);
  std::uint64_t damaged_count() const { return damaged_count_; }

 private:
  struct Open {
    RegionId region;
    bool continues;
    std::uint64_t ticks;
  };
  bool decode_values(HookRecord& record);
  bool decode_point(unsigned what, HookRecord& record);
  bool decode_tensor(Point& point);
  bool decode_range(unsigned what, HookRecord& record);
  bool fail();
  static void add_range(const HookRecord& record, Profile& profile);
  void add_leave(std::uint64_t ticks, Profile& profile);
  std::uint64_t add_plain(Profile& profile);

  std::span<const encoding::Word> words_;  ///< rest of the chunk
  std::uint64_t base_ticks_ = 0;
  std::uint64_t damaged_count_ = 0;
  std::vector<Fact> values_;
  std::vector<Open> open_;  ///< regions open in add_all_to()
};

}  // namespace megascope::trace
