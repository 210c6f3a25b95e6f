#pragma once

#include "core/record/ids.h"
#include "plugin/capture/rank_update.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace megascope::capture {

/// Keeps a history of counter values and tracks which of them rank 0 has, so that a client that
/// connects late sees curves from the start of the run. Keeps at most kMaxOfOne values of each
/// counter, and fewer if there are many counters. When a counter reaches its limit, every second of
/// its values is removed, and later values are kept at the larger distance. Not thread-safe: one
/// thread at a time.
class CounterPast {
 public:
  static constexpr std::size_t kMaxOfAllRanks = std::size_t{1} << 19;
  static constexpr std::size_t kMaxOfOne = 1024;
  static constexpr std::size_t kMaxInARankUpdate = 8192;  ///< past values in one rank update

  /// Sets this rank's share of kMaxOfAllRanks. ranks: number of ranks in the run.
  void share_with(std::size_t ranks);
  /// Records a value. The steps of one counter normally ascend. A value of an earlier step than the
  /// last kept one is sent, but not kept in the history.
  void set(CounterId counter, std::int64_t step, double value);
  /// Returns the counters that have a value and for which it is not known whether a client requests
  /// them: want() has not been called for them since forget_capture_requests().
  std::vector<CounterId> unknown() const;
  /// Sets whether a client requests the counter.
  void want(CounterId counter, bool is_wanted);
  /// Marks all counters as unknown(), because the set of capture requests changed.
  void forget_capture_requests();
  /// Marks the counter's name as sent to rank 0.
  void name(CounterId counter) { counters_[counter].is_named = true; }
  bool is_named(CounterId counter) const { return counters_[counter].is_named; }
  /// Marks all names as not sent, because rank 0 may have dropped a rank update.
  void name_again();
  /// Marks values from `first_step` on as not sent.
  void report_again(std::int64_t first_step);
  /// Adds to a rank update the unsent values of wanted and named counters: the newest value of
  /// each, then up to kMaxInARankUpdate earlier values, oldest first. Values that do not fit stay
  /// queued.
  void put(RankUpdateWriter& rank_update);

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
    std::uint64_t stride = 1;  ///< one of `stride` values is kept; a power of two
    Sample newest;
    std::int64_t reported = kNever;  ///< rank 0 has all kept values up to this step
    /// From this step on, rank 0 has received every value. kNone: it has received none since the
    /// counter was requested, or a later value was not sent.
    std::int64_t live = kNone;
    bool has_new = false;   ///< `newest` has not been sent
    bool is_known = false;  ///< want() was called
    bool is_wanted = false;
    bool is_named = false;
  };
  Counter& at(CounterId counter);
  void make_space();
  void thin(Counter& counter) const;
  /// Returns the kept values that rank 0 does not have.
  static std::span<const Sample> unsent(const Counter& counter);
  static bool is_newest_kept(const Counter& counter) {
    return !counter.kept.empty() && counter.kept.back().step == counter.newest.step;
  }
  static bool is_shown(const Counter& counter) { return counter.is_wanted && counter.is_named; }
  void keep(Counter& counter, const Sample& sample) const;
  void put_new(RankUpdateWriter& rank_update);
  void put_past(RankUpdateWriter& rank_update);
  std::map<std::int64_t, CounterReadings> oldest_unsent() const;

  std::vector<Counter> counters_;     ///< by CounterId
  std::size_t used_ = 0;              ///< counters with a value
  std::size_t max_ = kMaxOfAllRanks;  ///< values of all counters together
  std::size_t max_of_one_ = kMaxOfOne;
};

}  // namespace megascope::capture
