#include "analysis/waits/critical_path.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

class Walk {
 public:
  Walk(const WaitStates::WaitPoints& wait_points, const std::vector<TrackTotals>& totals,
       const MatchTables& tables)
      : wait_points_(wait_points), totals_(totals), tables_(tables) {
    path_.by_track_ns.resize(wait_points.size());
    for (const auto& of_track : wait_points)
      left_.push_back(static_cast<std::uint32_t>(of_track.size()));
  }

  CriticalPath run() {
    const auto last = std::ranges::max_element(totals_, {}, &TrackTotals::last_ns);
    if (last == totals_.end() || last->last_ns == 0) return path_;
    track_ = static_cast<Track>(last - totals_.begin());
    time_ns_ = last->last_ns;
    while (to_last_wait()) {
    }
    add_outside(std::min(totals_[track_].first_ns, time_ns_));
    return path_;
  }

 private:
  /// Follows the track back to its last wait state and switches to the track it waited for. Returns
  /// false if there is no earlier wait state.
  bool to_last_wait() {
    std::uint32_t& left = left_[track_];
    while (left != 0) {
      const ClassifiedWaitPoint& wait_point = wait_points_[track_][--left];
      if (wait_point.enter_ns >= time_ns_) continue;
      const std::uint64_t begin_ns = wait_point.enter_ns + wait_point.wait_ns;
      add_outside(std::min(wait_point.leave_ns(), time_ns_));
      add_call(wait_point, std::min(begin_ns, time_ns_));
      if (wait_point.wait_ns == 0 || begin_ns > time_ns_) continue;
      track_ = wait_point.root_cause();
      left_[track_] = std::min(left_[track_], wait_point.root_cause_wait_point);
      ++path_.switch_count;
      return true;
    }
    return false;
  }

  void add_outside(std::uint64_t until_ns) {
    if (until_ns >= time_ns_) return;
    path_.outside_ns += time_ns_ - until_ns;
    go_to(until_ns);
  }
  void add_call(const ClassifiedWaitPoint& wait_point, std::uint64_t until_ns) {
    if (until_ns >= time_ns_) return;
    path_.by_function_ns[tables_.function_of(
        track_, static_cast<RegionId>(wait_point.region))] += time_ns_ - until_ns;
    go_to(until_ns);
  }
  void go_to(std::uint64_t time_ns) {
    path_.by_track_ns[track_] += time_ns_ - time_ns;
    path_.length_ns += time_ns_ - time_ns;
    time_ns_ = time_ns;
  }

  const WaitStates::WaitPoints& wait_points_;
  const std::vector<TrackTotals>& totals_;
  const MatchTables& tables_;
  std::vector<std::uint32_t> left_;  ///< wait points of each track that may still lie on the path
  Track track_ = 0;
  std::uint64_t time_ns_ = 0;
  CriticalPath path_;
};

}  // namespace

CriticalPath critical_path(const WaitStates::WaitPoints& wait_points,
                           const std::vector<TrackTotals>& totals, const MatchTables& tables) {
  return Walk(wait_points, totals, tables).run();
}

}  // namespace megascope::analysis
