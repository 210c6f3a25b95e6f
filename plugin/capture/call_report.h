#pragma once

#include "core/profile/profile.h"
#include "plugin/capture/rank_update.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace megascope {
class Recorder;
}  // namespace megascope

namespace megascope::capture {

/// Reports the MPI calls of one thread as increments: each CallSums has only the rows (functions,
/// peers) whose totals changed since the previous one. Totals themselves are cumulative.
/// Used where the application annotates no steps. The reported thread is the first one that calls
/// next(); calls from other threads return nullopt.
class CallReport {
 public:
  /// The next report. index: Interval::index of the interval that ends now. Returns nullopt on the
  /// first call (it only sets the clock reference), from any other thread, and when the clock has
  /// not advanced. Throws std::bad_alloc.
  std::optional<CallSums> next(Recorder& recorder, std::int64_t index);

 private:
  struct Moment {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
  };
  void add_functions(Recorder& recorder, const Profile& profile, double ms_per_tick,
                     CallSums& sums);
  void add_peers(const Profile& profile, CallSums& sums);

  std::optional<std::thread::id> thread_;
  Moment first_;
  std::map<RegionId, std::pair<std::string, std::uint64_t>>
      /// Display name, and the number of calls last reported.
      functions_;
  std::map<std::int32_t, std::uint64_t> peers_;  ///< messages last reported, by world rank
  /// World rank to resume with when more than kMaxPeerSums peers changed.
  std::int32_t next_peer_ = 0;
};

}  // namespace megascope::capture
