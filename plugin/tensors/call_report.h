#pragma once

#include "core/record/profile.h"
#include "plugin/tensors/letter.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace megascope {
class Recorder;
}  // namespace megascope

namespace megascope::tensors {

/// What the MPI calls of one thread add up to, as rank updates: each has the rows that changed
/// since the one before. The thread is the first one that calls next(); of others nothing is
/// reported.
class CallReport {
 public:
  /// index: Interval::index. nullopt: another thread reports, or nothing changed. May throw
  /// bad_alloc.
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
      functions_;                                ///< name, and calls that were reported
  std::map<std::int32_t, std::uint64_t> peers_;  ///< messages that were reported
  std::int32_t next_peer_ = 0;                   ///< where there are more than fit: who is next
};

}  // namespace megascope::tensors
