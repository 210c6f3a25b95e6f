#include "analysis/waits/delay_costs.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace megascope::analysis {
namespace {

/// Visits all wait states from the last to the first. A cost that is distributed over a range of a
/// track's wait points is stored as a change of a rate (cost per ns of waiting) at both ends of the
/// range.
class Replay {
 public:
  explicit Replay(const WaitStates::WaitPoints& wait_points)
      : wait_points_(wait_points), tracks_(wait_points.size()) {
    for (std::size_t i = 0; i < wait_points.size(); ++i) {
      TrackState& track = tracks_[i];
      track.marks.reserve(wait_points[i].size() + 1);
      track.marks.emplace_back();
      for (const ClassifiedWaitPoint& wait_point : wait_points[i])
        track.marks.push_back({track.marks.back().waited_ns + wait_point.wait_ns, 0.0});
      track.left = static_cast<std::uint32_t>(wait_points[i].size());
    }
    costs_.caused_ns.resize(wait_points.size());
    costs_.direct_ns.resize(wait_points.size());
    for (const TrackState& track : tracks_)
      costs_.suffered_ns.push_back(track.marks.back().waited_ns);
  }

  DelayCosts run() {
    for (Track track = 0; track < tracks_.size(); ++track) push_next(track);
    while (!queue_.empty()) {
      const Track track = queue_.top().second;
      queue_.pop();
      const std::uint32_t index = --tracks_[track].left;
      tracks_[track].rate += tracks_[track].marks[index + 1].rate_change;
      distribute(track, index);
      push_next(track);
    }
    return std::move(costs_);
  }

 private:
  struct Mark {
    std::uint64_t waited_ns = 0;  ///< wait time in the earlier wait points
    double rate_change = 0;  ///< change of the rate between this wait point and the previous one
  };
  struct TrackState {
    std::vector<Mark> marks;  ///< before each wait point, and after the last
    double rate = 0;          ///< rate of the wait point that was visited last
    std::uint32_t left = 0;   ///< wait points not yet visited
  };

  /// Queues the track's next earlier wait state; skips wait points without waiting time.
  void push_next(Track index) {
    constexpr std::uint32_t kAhead = 4;
    TrackState& track = tracks_[index];
    while (track.left != 0) {
      const ClassifiedWaitPoint& wait_point = wait_points_[index][track.left - 1];
      if (track.left >
          kAhead) {  // hardware prefetchers do not recognise many streams that run backwards
        __builtin_prefetch(&wait_points_[index][track.left - 1 - kAhead]);
        __builtin_prefetch(&track.marks[track.left - kAhead]);
      }
      if (wait_point.wait_ns != 0)
        return queue_.emplace(wait_point.enter_ns + wait_point.wait_ns, index);
      track.rate += track.marks[track.left].rate_change;
      --track.left;
    }
  }

  std::uint64_t waited(Track track, std::uint32_t first, std::uint32_t end) const {
    const auto& marks = tracks_[track].marks;
    const auto last = static_cast<std::uint32_t>(marks.size() - 1);
    return first < end
               ? marks[std::min(end, last)].waited_ns - marks[std::min(first, last)].waited_ns
               : 0;
  }

  void distribute(Track track, std::uint32_t index) {
    const ClassifiedWaitPoint& wait_point = wait_points_[track][index];
    const double cost = static_cast<double>(wait_point.wait_ns) * (1 + tracks_[track].rate);
    const Track root_cause_track = wait_point.root_cause();
    TrackState& root_cause = tracks_[root_cause_track];
    const std::uint32_t end = std::min(wait_point.root_cause_wait_point, root_cause.left);
    const std::uint64_t root_cause_waited = waited(root_cause_track, wait_point.root_cause_sync,
                                                   end);
    const auto own_waited = static_cast<std::int64_t>(waited(track, wait_point.own_sync, index));
    const auto delay = std::max<std::int64_t>(
        0, wait_point.later_ns() - static_cast<std::int64_t>(root_cause_waited) + own_waited);
    const double whole = static_cast<double>(delay) + static_cast<double>(root_cause_waited);
    const double own_part = root_cause_waited == 0 ? cost
                                                   : cost * static_cast<double>(delay) / whole;
    costs_.caused_ns[root_cause_track] += own_part;
    costs_.direct_ns[root_cause_track] += own_part / (1 + tracks_[track].rate);
    if (root_cause_waited == 0) return;
    root_cause.marks[end].rate_change += cost / whole;
    root_cause.marks[wait_point.root_cause_sync].rate_change -= cost / whole;
  }

  const WaitStates::WaitPoints& wait_points_;
  std::vector<TrackState> tracks_;
  std::priority_queue<std::pair<std::uint64_t, Track>> queue_;  ///< end of each track's next wait
  DelayCosts costs_;
};

}  // namespace

DelayCosts delay_costs(const WaitStates::WaitPoints& wait_points) {
  return Replay(wait_points).run();
}

}  // namespace megascope::analysis
