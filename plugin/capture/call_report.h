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

/// Reports the MPI calls of one thread, where the application annotates no steps. A report
/// (CallSums) has only the rows, that is, functions and peers, whose totals changed since the
/// previous report. The totals are cumulative. The reported thread is the first one that calls
/// next().
class CallReport {
 public:
  /// Returns the next report. index: Interval::index of the interval that ends now. Returns nullopt
  /// on the first call, which only sets the clock reference, when the clock has not advanced, and
  /// on any thread other than the reported one. Throws std::bad_alloc.
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
  /// Display name, and the number of calls in the last report of the function.
  std::map<RegionId, std::pair<std::string, std::uint64_t>> functions_;
  /// Number of messages in the last report of the peer, by world rank.
  std::map<std::int32_t, std::uint64_t> peers_;
  /// World rank to resume with when more than kMaxPeerSums peers changed.
  std::int32_t next_peer_ = 0;
};

}  // namespace megascope::capture
