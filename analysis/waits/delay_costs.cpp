#include "analysis/waits/delay_costs.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace megascope::analysis {
namespace {

/// Walks all waits from the last to the first in time. A cost that a range of a track's waits must bear is kept as a rate
/// (cost a ns of wait) at the range's ends, because it is met from above.
class Replay {
 public:
  explicit Replay(const WaitStates::Stops& stops) : stops_(stops), tracks_(stops.size()) {
    for (std::size_t i = 0; i < stops.size(); ++i) {
      TrackState& track = tracks_[i];
      track.waited_ns.reserve(stops[i].size() + 1);
      track.waited_ns.push_back(0);
      for (const WaitingStop& stop : stops[i]) track.waited_ns.push_back(track.waited_ns.back() + stop.wait_ns);
      track.rates.resize(stops[i].size() + 1);
      track.left = static_cast<std::uint32_t>(stops[i].size());
    }
    costs_.caused_ns.resize(stops.size());
    costs_.direct_ns.resize(stops.size());
    for (const TrackState& track : tracks_) costs_.suffered_ns.push_back(track.waited_ns.back());
  }

  DelayCosts run() {
    for (Track track = 0; track < tracks_.size(); ++track) push_next(track);
    while (!queue_.empty()) {
      const Track track = queue_.top().second;
      queue_.pop();
      const std::uint32_t index = --tracks_[track].left;
      tracks_[track].rate += tracks_[track].rates[index + 1];
      distribute(track, index);
      push_next(track);
    }
    return std::move(costs_);
  }

 private:
  struct TrackState {
    std::vector<std::uint64_t> waited_ns;  ///< in the stops before each
    std::vector<double> rates;             ///< [i + 1]: by how much the rate changes from stop i + 1 to stop i
    double rate = 0;                       ///< of the stop that was met last
    std::uint32_t left = 0;                ///< stops not met yet
  };

  /// The track's next wait, downwards; stops without one are passed by.
  void push_next(Track index) {
    TrackState& track = tracks_[index];
    while (track.left != 0) {
      const WaitingStop& stop = stops_[index][track.left - 1];
      if (stop.wait_ns != 0) return queue_.emplace(stop.enter_ns + stop.wait_ns, index);
      track.rate += track.rates[track.left];
      --track.left;
    }
  }

  std::uint64_t waited(Track track, std::uint32_t first, std::uint32_t end) const {
    const auto& sums = tracks_[track].waited_ns;
    const auto last = static_cast<std::uint32_t>(sums.size() - 1);
    return first < end ? sums[std::min(end, last)] - sums[std::min(first, last)] : 0;
  }

  void distribute(Track track, std::uint32_t index) {
    const WaitingStop& stop = stops_[track][index];
    const double cost = static_cast<double>(stop.wait_ns) * (1 + tracks_[track].rate);
    TrackState& culprit = tracks_[stop.culprit];
    const std::uint32_t end = std::min(stop.culprit_stop, culprit.left);
    const std::uint64_t culprit_waited = waited(stop.culprit, stop.culprit_met, end);
    const auto own_waited = static_cast<std::int64_t>(waited(track, stop.own_met, index));
    const auto delay = std::max<std::int64_t>(0, stop.later_ns - static_cast<std::int64_t>(culprit_waited) + own_waited);
    const double whole = static_cast<double>(delay) + static_cast<double>(culprit_waited);
    const double own_part = culprit_waited == 0 ? cost : cost * static_cast<double>(delay) / whole;
    costs_.caused_ns[stop.culprit] += own_part;
    costs_.direct_ns[stop.culprit] += own_part / (1 + tracks_[track].rate);
    if (culprit_waited == 0) return;
    culprit.rates[end] += cost / whole;
    culprit.rates[stop.culprit_met] -= cost / whole;
  }

  const WaitStates::Stops& stops_;
  std::vector<TrackState> tracks_;
  std::priority_queue<std::pair<std::uint64_t, Track>> queue_;  ///< end of each track's next wait
  DelayCosts costs_;
};

}  // namespace

DelayCosts delay_costs(const WaitStates::Stops& stops) { return Replay(stops).run(); }

}  // namespace megascope::analysis
