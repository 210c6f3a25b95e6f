#include "analysis/whatif/waits_between.h"

#include <algorithm>

namespace megascope::whatif {
namespace {

/// Up to this size a send is taken as eager: it does not wait for the receiver.
constexpr std::uint64_t kEagerBytes = 4096;

}  // namespace

SegmentKey SegmentIndex::at(analysis::Track track, std::uint64_t begin_ns) const {
  const auto& entries = by_track_[track];
  if (entries.empty() || entries.back().begin_ns < begin_ns)
    return kNoSegment;  // the usual case for calls that are not replayed
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), begin_ns,
      [](const Entry& entry, std::uint64_t wanted) { return entry.begin_ns < wanted; });
  return found->begin_ns == begin_ns ? found->segment : kNoSegment;
}

void WaitSink::add_message(std::size_t task, const analysis::MessageEnd& send,
                           const analysis::MessageEnd& receive) {
  const SegmentKey received = index_.at(receive.track, receive.enter_ns);
  if (received == kNoSegment) return;
  const SegmentKey sent = index_.at(send.track, send.start_ns);
  const SegmentKey posted = index_.at(receive.track, receive.start_ns);
  if (sent == kNoSegment || posted == kNoSegment) return;
  const SegmentKey send_end = index_.at(send.track, send.enter_ns);
  std::vector<Need>& needs = tasks_[task].needs;
  needs.push_back({received, sent});
  needs.push_back({received, posted});
  if (send_end == kNoSegment) return;
  // The send waited for its receive if most of its time lies before the receive was posted.
  const bool is_late = receive.start_ns > send.enter_ns && receive.start_ns < send.leave_ns &&
                       receive.start_ns - send.enter_ns > send.leave_ns - receive.start_ns &&
                       send.bytes > kEagerBytes;
  if (!is_synchronous_ && !is_late) return;
  needs.push_back({send_end, posted});
  needs.push_back({send_end, sent});
}

/// Each member needs the root, and the root needs each member, unless the waiting call returned
/// before the other one began.
void WaitSink::add_rooted(Task& task, const analysis::Collective& collective,
                          const Instance& instance) {
  const auto add = [&](std::size_t waiting, std::size_t needed) {
    const bool has_waited = collective.members[needed].start_ns <=
                            collective.members[waiting].leave_ns;
    if (has_waited && instance.ends[waiting] != kNoSegment &&
        instance.starts[needed] != kNoSegment) {
      task.needs.push_back({instance.ends[waiting], instance.starts[needed]});
    }
  };
  for (std::size_t i = 0; i < instance.ends.size(); ++i) {
    add(i, i);
    if (!collective.members[i].is_root) continue;
    for (std::size_t j = 0; j < instance.ends.size(); ++j) {
      if (j == i) continue;
      add(i, j);
      add(j, i);
    }
  }
}

void WaitSink::add_collective(std::size_t task, const analysis::Collective& collective) {
  Instance instance;
  std::uint64_t latest_ns = 0;
  for (const analysis::CollectiveEnd& member : collective.members) {
    const SegmentKey start = index_.at(member.track, member.start_ns);
    if (start == kNoSegment)
      return;  // it began before the replayed steps: when it could end is unknown
    instance.starts.push_back(start);
    instance.ends.push_back(index_.at(member.track, member.enter_ns));
    latest_ns = std::max(latest_ns, member.start_ns);
  }
  const bool all_wait = std::all_of(
      collective.members.begin(), collective.members.end(),
      [latest_ns](const analysis::CollectiveEnd& member) { return member.leave_ns >= latest_ns; });
  if (all_wait || is_synchronous_)
    tasks_[task].instances.push_back(std::move(instance));
  else
    add_rooted(tasks_[task], collective, instance);
}

std::vector<WaitSink::Need> WaitSink::take_needs() {
  std::vector<Need> all;
  for (Task& task : tasks_) {
    all.insert(all.end(), task.needs.begin(), task.needs.end());
    task.needs = {};
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<WaitSink::Instance> WaitSink::take_instances() {
  std::vector<Instance> all;
  for (Task& task : tasks_) {
    for (Instance& instance : task.instances) all.push_back(std::move(instance));
    task.instances = {};
  }
  std::ranges::sort(all, {}, &Instance::starts);  // by time, not by the task that found them
  return all;
}

}  // namespace megascope::whatif
