#pragma once

#include "core/record/encoding.h"
#include "core/record/point.h"
#include "core/record/profile.h"
#include "core/record/value_fact.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::trace {

/// One record of what a program told through hooks. Times in ticks.
struct HookRecord {
  enum class Kind : std::uint8_t { kEnter, kLeave, kEnd, kPoint };
  Kind kind = Kind::kLeave;
  RegionId region = kNoRegion;  ///< kEnter
  std::uint64_t ticks = 0;
  std::span<const Fact>
      values;   ///< kEnter: numbers that go with the region; valid until the next record
  Point point;  ///< kPoint; its times are not set
  std::uint64_t start_ticks = 0;  ///< of a PointKind::kRangeStop
};

/// Turns the words of a location's hook chunks (core/record/hook_words.h), one chunk after the
/// other, into records. Untrusted input: what cannot be a record ends the chunk and is counted. One
/// thread.
class HookDecoder {
 public:
  /// Begins the next chunk: its words and its time base. The words must stay valid while the chunk
  /// is read.
  void begin_chunk(std::span<const encoding::Word> words, std::uint64_t base_ticks) {
    words_ = words;
    base_ticks_ = base_ticks;
  }
  /// False at the chunk's end.
  bool next(HookRecord& record);
  /// Adds the regions that end in the chunk to a profile, those that began in an earlier one too.
  /// Returns how many records of the program there were: a region counts once, readings of CPU
  /// times do not.
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

  std::span<const encoding::Word> words_;  ///< what is left of the chunk
  std::uint64_t base_ticks_ = 0;
  std::uint64_t damaged_count_ = 0;
  std::vector<Fact> values_;
  std::vector<Open> open_;  ///< of add_all_to()
};

}  // namespace megascope::trace
