#include "plugin/capture/call_report.h"

#include "core/base/clock.h"
#include "core/buffer/recorder.h"

#include <algorithm>

namespace megascope::capture {

std::optional<CallSums> CallReport::next(Recorder& recorder, std::int64_t index) {
  if (!thread_) {
    thread_ = std::this_thread::get_id();
    first_ = {recorder.ticks(), clock::monotonic_ns()};
    return std::nullopt;
  }
  if (*thread_ != std::this_thread::get_id()) return std::nullopt;
  const Moment now{recorder.ticks(), clock::monotonic_ns()};
  if (now.ticks <= first_.ticks) return std::nullopt;
  CallSums sums;
  sums.index = index;
  const Profile profile = recorder.profile_so_far();
  const double ms_per_tick = static_cast<double>(now.ns - first_.ns) * 1e-6 /
                             static_cast<double>(now.ticks - first_.ticks);
  sums.elapsed_ms = static_cast<double>(now.ticks - std::min(now.ticks, profile.first_enter())) *
                    ms_per_tick;
  add_functions(recorder, profile, ms_per_tick, sums);
  add_peers(profile, sums);
  return sums;
}

void CallReport::add_functions(Recorder& recorder, const Profile& profile, double ms_per_tick,
                               CallSums& sums) {
  std::map<RegionId, CallTotals> totals;
  for (const ProfileRow& row : profile.rows()) totals[row.key.region].add(row.totals);
  for (const auto& [region, total] : totals) {
    auto& [name, reported] = functions_[region];
    if (total.calls == reported || sums.functions.size() == kMaxCallSums) continue;
    if (name.empty()) name = recorder.region_name(region);
    if (name.empty()) continue;
    reported = total.calls;
    sums.names += name + "\n";
    sums.functions.push_back({.calls = total.calls,
                              .time_ms = static_cast<double>(total.time) * ms_per_tick,
                              .bytes_sent = total.bytes_sent,
                              .bytes_received = total.bytes_received});
  }
}

/// In turn, where more changed than fit.
void CallReport::add_peers(const Profile& profile, CallSums& sums) {
  std::vector<PeerTotals> peers = profile.peers();
  std::rotate(peers.begin(),
              std::ranges::lower_bound(peers, next_peer_, {}, &PeerTotals::world_rank),
              peers.end());
  for (const PeerTotals& peer : peers) {
    if (peer.world_rank < 0) continue;
    std::uint64_t& reported = peers_[peer.world_rank];
    if (peer.messages == reported) continue;
    next_peer_ = peer.world_rank;
    if (sums.peers.size() == kMaxPeerSums) return;
    reported = peer.messages;
    sums.peers.push_back({.world_rank = peer.world_rank,
                          .reserved = 0,
                          .messages = peer.messages,
                          .bytes = peer.bytes});
  }
}

}  // namespace megascope::capture
