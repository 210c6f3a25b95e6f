#include "analysis/waits/wait_states.h"

#include "analysis/match/collective_flow.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// MPI may complete sends up to this size before they are received. A call that completes several
/// requests is then not assumed to have waited for the receiver.
constexpr std::uint64_t kMayHaveLeft = 64 * 1024;

WaitKind kind_of(const FunctionTable::Function& function) {
  if (function.op == CollectiveOp::kBarrier) return WaitKind::kBarrier;
  switch (flow_of(function)) {
    case Flow::kNone:
      return WaitKind::kNone;
    case Flow::kAll:
      return WaitKind::kNxN;
    case Flow::kFromRoot:
      return WaitKind::kLateBroadcast;
    case Flow::kToRoot:
      return WaitKind::kEarlyReduce;
    case Flow::kPrefix:
      return WaitKind::kPrefix;
    case Flow::kPerhaps:
      break;
  }
  return WaitKind::kOther;
}

std::uint64_t time_between(std::uint64_t early_ns, std::uint64_t late_ns) {
  return late_ns > early_ns ? late_ns - early_ns : 0;
}

}  // namespace

void WaitStates::add_wait_point(Track track, const WaitPoint& wait_point) {
  ClassifiedWaitPoint classified;
  classified.enter_ns = wait_point.enter_ns;
  classified.duration_ns = ClassifiedWaitPoint::packed(
                               time_between(wait_point.enter_ns, wait_point.leave_ns)) &
                           ClassifiedWaitPoint::kLongest;
  classified.region = wait_point.region;
  wait_points_[track].push_back(classified);
}

/// If a call waited for several operations, the one that started last counts.
void WaitStates::apply(const Found& found) {
  ClassifiedWaitPoint& wait_point = wait_points_[found.track][found.wait_point];
  if (found.classified.wait_ns <= wait_point.wait_ns) return;
  ClassifiedWaitPoint classified = found.classified;
  classified.region = wait_point.region;
  classified.duration_ns = wait_point.duration_ns;
  wait_point = classified;
}

namespace {

/// Classifies the wait point of `own`, which waited for `root_cause`: two ends of a message, or two
/// members of a collective.
template <class End>
ClassifiedWaitPoint classify(const End& own, const End& root_cause, WaitKind kind,
                             const SyncPoint& own_sync, const SyncPoint& root_cause_sync) {
  const std::uint64_t until_ns = std::min(root_cause.start_ns, own.leave_ns);
  const auto own_ns = static_cast<std::int64_t>(own.enter_ns -
                                                std::min(own_sync.time_ns, own.enter_ns));
  const auto root_cause_ns = static_cast<std::int64_t>(
      root_cause.start_ns - std::min(root_cause_sync.time_ns, root_cause.start_ns));
  ClassifiedWaitPoint classified;
  classified.enter_ns = own.enter_ns;
  classified.wait_ns = ClassifiedWaitPoint::packed(time_between(own.enter_ns, until_ns)) &
                       ClassifiedWaitPoint::kLongest;
  classified.set_later(root_cause_ns - own_ns);
  classified.set_root_cause(root_cause.track);
  classified.root_cause_wait_point = root_cause.start_wait_point;
  classified.root_cause_sync = root_cause_sync.wait_point_count;
  classified.own_sync = own_sync.wait_point_count;
  classified.comm = std::min(own.comm, ClassifiedWaitPoint::kNoComm28) &
                    ClassifiedWaitPoint::kNoComm28;
  classified.kind_bits = static_cast<std::uint32_t>(kind) & 0xF;
  return classified;
}

}  // namespace

void WaitStates::add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) {
  if (receive.wait_point != kNoWaitPoint && send.start_ns > receive.enter_ns) {
    // The receiver's tracks are this task's.
    apply({receive.wait_point_track, receive.wait_point,
           classify(receive, send, WaitKind::kLateSender, receive.sync_before_end,
                    send.sync_before_start)});
    return;
  }
  const bool waited = send.wait_point != kNoWaitPoint && receive.start_ns > send.enter_ns &&
                      send.leave_ns >= receive.start_ns &&
                      (send.is_alone || send.bytes > kMayHaveLeft);
  if (!waited) return;
  tasks_[task].found.push_back({send.wait_point_track, send.wait_point,
                                classify(send, receive, WaitKind::kLateReceiver,
                                         send.sync_before_end, receive.sync_before_start)});
}

void WaitStates::add_collective(std::size_t task, const Collective& collective) {
  if (!collective.is_whole || collective.members.size() < 2) return;
  const FunctionTable::Function& function = tables_.functions.function(collective.function);
  CollectiveCost& cost = tasks_[task].costs[{collective.comm, collective.function}];
  std::uint64_t shortest_ns = ~std::uint64_t{0};
  for (const CollectiveEnd& end : collective.members)
    shortest_ns = std::min(shortest_ns, end.leave_ns - end.enter_ns);
  ++cost.count;
  cost.wire_ns += shortest_ns;
  const std::uint64_t bytes = collective.members.front().block_bytes;
  if (bytes != CollectiveShape::kNotCompared) cost.bytes += bytes;
  const WaitKind kind = kind_of(function);
  const bool has_groups = tables_.comms.entry(collective.comm).kind == CommKind::kInter;
  const LastNeeded last(collective, flow_of(function), has_groups);
  for (const CollectiveEnd& end : collective.members) {
    cost.skew_ns += end.leave_ns - end.enter_ns - shortest_ns;
    const CollectiveEnd* root_cause = last.of(end);
    if (root_cause == nullptr || root_cause == &end || end.wait_point == kNoWaitPoint ||
        root_cause->start_ns <= end.enter_ns)
      continue;
    if (kind == WaitKind::kOther && end.leave_ns < root_cause->start_ns)
      continue;  // it did not wait
    tasks_[task].found.push_back(
        {end.wait_point_track, end.wait_point,
         classify(end, *root_cause, kind, end.last_sync, root_cause->last_sync)});
  }
}

void WaitStates::end_window() {
  for (Task& task : tasks_) {
    for (const Found& found : task.found) apply(found);
    task.found.clear();
  }
}

CollectiveCosts WaitStates::collective_costs() const {
  CollectiveCosts all;
  for (const Task& task : tasks_) {
    for (const auto& [key, cost] : task.costs) {
      CollectiveCost& sum = all[key];
      sum.count += cost.count;
      sum.wire_ns += cost.wire_ns;
      sum.skew_ns += cost.skew_ns;
      sum.bytes += cost.bytes;
    }
  }
  return all;
}

}  // namespace megascope::analysis
