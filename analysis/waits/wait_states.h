#pragma once

#include "analysis/common/growing_array.h"
#include "analysis/match/match.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

/// Wait states of matched messages and collectives. docs/analysis.md has the definitions.
namespace megascope::analysis {

/// Kind of a wait state, after Scalasca's patterns. The kind states which call waits, and for what.
enum class WaitKind : std::uint8_t {
  kNone,
  kLateSender,    ///< a receive waits until its send is started
  kLateReceiver,  ///< a send waits until its receive is posted
  kBarrier,       ///< a member waits until the last member enters the barrier
  kNxN,  ///< a member of another collective in which each member depends on all others waits until
         ///< the last member enters
  kEarlyReduce,    ///< the root of a gather or reduction waits until the last other member enters
  kLateBroadcast,  ///< a member of a broadcast or scatter waits until the root enters
  kPrefix,         ///< a member of a scan waits until the last member of lower rank enters
  kOther,  ///< waits in creation and freeing of communicators, windows and files, in fences, and in
           ///< collectives on files
  kCount
};
inline constexpr std::size_t kWaitKindCount = static_cast<std::size_t>(WaitKind::kCount);

/// A wait point with its wait state: how long the track waited, for which track (the delaying
/// track, root_cause()), and where the two last synchronised. Packed, because there is one for
/// nearly every call: durations have 48 bits (78 hours), later_ns() has 47 bits and a sign; larger
/// values are clamped. wait_ns is 0 if the track did not wait; the fields below it are then unset.
struct ClassifiedWaitPoint {
  std::uint64_t enter_ns = 0;
  std::uint64_t duration_ns : 48 = 0;
  std::uint64_t region : 16 = kNoRegion;  ///< RegionId
  std::uint64_t wait_ns : 48 = 0;         ///< waiting time, from enter_ns
  std::uint64_t root_cause_high : 16 = 0;
  std::uint64_t later_bits : 48 = 0;  ///< later_ns()
  std::uint64_t root_cause_low : 16 = 0;
  std::uint32_t root_cause_wait_point = 0;  ///< wait points of the delaying track before it started
                                            ///< its operation
  std::uint32_t
      root_cause_sync = 0;  ///< wait points of the delaying track before the two last synchronised
  std::uint32_t own_sync = 0;  ///< wait points of this track before the two last synchronised
  std::uint32_t comm : 28 = kNoComm28;  ///< CommTable::Index
  std::uint32_t kind_bits : 4 = 0;

  static constexpr std::uint32_t kNoComm28 = (1U << 28) - 1;
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t packed(std::uint64_t time_ns) {
    return std::min(time_ns, kLongest);
  }

  std::uint64_t leave_ns() const { return enter_ns + duration_ns; }
  /// Returns by how many ns the delaying track (a thread of a rank) was later than this one since
  /// both last synchronised. The time of each track counts from when that track left the call in
  /// which they synchronised, which it may have left sooner or later than the other one.
  std::int64_t later_ns() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(later_bits) << 16) >> 16;
  }
  void set_later(std::int64_t time_ns) {
    constexpr auto kMax = static_cast<std::int64_t>(kLongest / 2);
    later_bits = static_cast<std::uint64_t>(std::clamp(time_ns, -kMax, kMax)) & kLongest;
  }
  /// The delaying track.
  Track root_cause() const {
    return static_cast<Track>(root_cause_high) << 16 | static_cast<Track>(root_cause_low);
  }
  WaitKind kind() const { return static_cast<WaitKind>(kind_bits); }
  void set_root_cause(Track track) {
    root_cause_high = static_cast<std::uint16_t>(track >> 16);
    root_cause_low = static_cast<std::uint16_t>(track);
  }
};
static_assert(sizeof(ClassifiedWaitPoint) == 48);
static_assert(kWaitKindCount <= 16);

/// Costs of all collectives of one function on one communicator.
struct CollectiveCost {
  std::uint64_t count = 0;
  std::uint64_t wire_ns = 0;  ///< sum of the durations of each collective's fastest member
  std::uint64_t
      skew_ns = 0;          ///< sum of the time that other members spent in addition to the fastest
  std::uint64_t bytes = 0;  ///< sum of the bytes of one process's block
};
using CollectiveCosts = std::map<std::pair<CommTable::Index, std::uint32_t>,
                                 CollectiveCost>;  ///< by communicator and function

/// Collects the wait points of all tracks and computes their wait states from matches. Use as the
/// sink of match_run(), then read. Memory: 48 bytes per wait point, plus an eighth. tables: must
/// outlive the object.
class WaitStates final : public MatchSink {
 public:
  explicit WaitStates(const MatchTables& tables) : tables_(tables) {}

  /// Discards the results of an earlier pass.
  void begin(std::size_t task_count) override {
    wait_points_.clear();
    wait_points_.resize(tables_.track_count());
    tasks_.assign(task_count, {});
  }
  void add_wait_point(Track track, const WaitPoint& wait_point) override;
  void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) override;
  void add_collective(std::size_t task, const Collective& collective) override;
  void end_window() override;

  using WaitPoints = std::vector<GrowingArray<ClassifiedWaitPoint>>;
  const WaitPoints& wait_points() const { return wait_points_; }  ///< by track, then number
  CollectiveCosts collective_costs() const;

 private:
  struct Found {
    Track track = 0;
    std::uint32_t wait_point = 0;
    ClassifiedWaitPoint classified;
  };
  struct Task {
    std::vector<Found>
        found;  ///< not yet in wait_points_: they belong to tracks that another task may write to
    CollectiveCosts costs;
  };
  void apply(const Found& found);

  const MatchTables& tables_;
  WaitPoints wait_points_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::analysis
