#pragma once

#include "analysis/common/growing_array.h"
#include "analysis/match/match.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

/// Where ranks wait for others. docs/analysis.md has the definitions.
namespace megascope::analysis {

enum class WaitKind : std::uint8_t {
  kNone,
  kLateSender,     ///< a receive, until its send was started
  kLateReceiver,   ///< a send, until its receive was posted
  kBarrier,        ///< until the last one entered the barrier
  kNxN,            ///< the same of a collective in which all get something of all
  kEarlyReduce,    ///< the root of a gather or reduction, until the last of the others entered
  kLateBroadcast,  ///< of a broadcast or scatter, until the root entered
  kPrefix,         ///< of a scan, until the last one of lower rank entered
  kOther,  ///< making and freeing of communicators, windows and files, fences, collectives on files
  kCount
};
inline constexpr std::size_t kWaitKindCount = static_cast<std::size_t>(WaitKind::kCount);

/// A stop, how long its track waited in it, for whom, and where the two had met before.
/// Packed, for there is one for nearly every call: durations have 48 bits, three days, and how much
/// later a root cause came half of that; longer ones are cut.
struct WaitingPoint {
  std::uint64_t enter_ns = 0;
  std::uint64_t duration_ns : 48 = 0;
  std::uint64_t region : 16 = kNoRegion;  ///< RegionId
  std::uint64_t wait_ns : 48 = 0;         ///< from enter_ns on
  std::uint64_t root_cause_high : 16 = 0;
  std::uint64_t later_bits : 48 = 0;  ///< later_ns()
  std::uint64_t root_cause_low : 16 = 0;
  std::uint32_t root_cause_wait_point = 0;  ///< the culprit's stops before it came
  std::uint32_t root_cause_met = 0;         ///< those before the two met
  std::uint32_t own_met = 0;                ///< this track's
  std::uint32_t comm : 28 = kNoComm28;      ///< CommTable::Index
  std::uint32_t kind_bits : 4 = 0;

  static constexpr std::uint32_t kNoComm28 = (1U << 28) - 1;
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t packed(std::uint64_t time_ns) {
    return std::min(time_ns, kLongest);
  }

  std::uint64_t leave_ns() const { return enter_ns + duration_ns; }
  /// How much more time the root cause took since the two met before than this track.
  std::int64_t later_ns() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(later_bits) << 16) >> 16;
  }
  void set_later(std::int64_t time_ns) {
    constexpr auto kMax = static_cast<std::int64_t>(kLongest / 2);
    later_bits = static_cast<std::uint64_t>(std::clamp(time_ns, -kMax, kMax)) & kLongest;
  }
  Track root_cause() const {
    return static_cast<Track>(root_cause_high) << 16 | static_cast<Track>(root_cause_low);
  }
  WaitKind kind() const { return static_cast<WaitKind>(kind_bits); }
  void set_root_cause(Track track) {
    root_cause_high = static_cast<std::uint16_t>(track >> 16);
    root_cause_low = static_cast<std::uint16_t>(track);
  }
};
static_assert(sizeof(WaitingPoint) == 48);
static_assert(kWaitKindCount <= 16);

/// One function on one communicator, over all its collectives.
struct CollectiveCost {
  std::uint64_t count = 0;
  std::uint64_t wire_ns = 0;  ///< that the shortest member spent, of each
  std::uint64_t skew_ns = 0;  ///< that the others spent beyond
  std::uint64_t bytes = 0;    ///< of one process's block
};
using CollectiveCosts = std::map<std::pair<CommTable::Index, std::uint32_t>,
                                 CollectiveCost>;  ///< by communicator and function

/// Collects the stops of all tracks and finds the waits of matched calls. Memory: 48 bytes a stop,
/// and an eighth more.
class WaitStates final : public MatchSink {
 public:
  explicit WaitStates(const MatchTables& tables) : tables_(tables) {}

  /// Forgets what an earlier pass found.
  void begin(std::size_t task_count) override {
    wait_points_.clear();
    wait_points_.resize(tables_.track_count());
    tasks_.assign(task_count, {});
  }
  void add_wait_point(Track track, const WaitPoint& wait_point) override;
  void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) override;
  void add_collective(std::size_t task, const Collective& collective) override;
  void end_window() override;

  using WaitPoints = std::vector<GrowingArray<WaitingPoint>>;
  const WaitPoints& wait_points() const { return wait_points_; }  ///< by track, then number
  CollectiveCosts collective_costs() const;

 private:
  struct Found {
    Track track = 0;
    std::uint32_t wait_point = 0;
    WaitingPoint wait;
  };
  struct Task {
    std::vector<Found>
        found;  ///< not yet in wait_points_: of tracks that another task may write to
    CollectiveCosts costs;
  };
  void apply(const Found& found);

  const MatchTables& tables_;
  WaitPoints wait_points_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::analysis
