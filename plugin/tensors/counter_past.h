#pragma once

#include "core/record/ids.h"
#include "plugin/tensors/letter.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace megascope::tensors {

/// What counters were set to, and what of it rank 0 was told: a client that comes late sees curves
/// from the run's begin. Of each counter kMostOfOne values are kept, evenly thinned, fewer of many
/// counters. One thread at a time.
class CounterPast {
 public:
  static constexpr std::size_t kMostOfAllRanks = std::size_t{1} << 19;
  static constexpr std::size_t kMostOfOne = 1024;
  static constexpr std::size_t kMostInALetter = 8192;  ///< values of the past

  /// This rank's share of what is kept.
  void share_with(std::size_t ranks);
  /// A counter was set. Steps of one counter ascend; what goes back is told, and not kept.
  void set(CounterId counter, std::int64_t step, double value);
  /// Counters that were set and of which it is not known whether they are wanted.
  std::vector<CounterId> unknown() const;
  void want(CounterId counter, bool is_wanted);
  /// Others may be wanted from now on: all are unknown().
  void forget_wishes();
  /// Rank 0 was told its name.
  void name(CounterId counter) { counters_[counter].is_named = true; }
  bool is_named(CounterId counter) const { return counters_[counter].is_named; }
  /// Rank 0 may have missed names.
  void name_again();
  /// Or values from this step on.
  void tell_again(std::int64_t first_step);
  /// Puts into a letter what rank 0 was not told of those that are wanted and named: the newest
  /// value of each, and of those before them kMostInALetter, the oldest first. What has no room is
  /// left for the next one.
  void put(LetterWriter& letter);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  struct Sample {
    std::int64_t step = 0;
    double value = 0.0;
  };
  struct Counter {
    std::vector<Sample> kept;  ///< steps ascend
    std::uint64_t set_count = 0;
    std::uint64_t stride = 1;  ///< of so many that were set one is kept, a power of two
    Sample newest;
    std::int64_t told = kNever;  ///< up to this step rank 0 has been told what is kept …
    std::int64_t
        live = kNone;  ///< … and from this one on as it came; kNone: not yet, or one was missed
    bool has_new = false;   ///< `newest` was not told
    bool is_known = false;  ///< whether it is wanted
    bool is_wanted = false;
    bool is_named = false;
  };
  Counter& at(CounterId counter);
  void make_room();
  void thin(Counter& counter) const;
  /// What is kept and was not told.
  static std::span<const Sample> untold(const Counter& counter);
  static bool is_newest_kept(const Counter& counter) {
    return !counter.kept.empty() && counter.kept.back().step == counter.newest.step;
  }
  static bool is_shown(const Counter& counter) { return counter.is_wanted && counter.is_named; }
  void keep(Counter& counter, const Sample& sample) const;
  void put_new(LetterWriter& letter);
  void put_past(LetterWriter& letter);
  std::map<std::int64_t, CounterReadings> oldest_untold() const;

  std::vector<Counter> counters_;       ///< by CounterId
  std::size_t used_ = 0;                ///< of these, so many were set
  std::size_t most_ = kMostOfAllRanks;  ///< values of all counters
  std::size_t most_of_one_ = kMostOfOne;
};

}  // namespace megascope::tensors
