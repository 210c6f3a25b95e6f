#include "analysis/whatif/waits_between.h"

#include <algorithm>

namespace megascope::whatif {
namespace {

/// Up to this size a send is taken as eager: it does not wait for the receiver.
constexpr std::uint64_t kEagerBytes = 4096;

}  // namespace

PieceKey PieceIndex::at(analysis::Track track, std::uint64_t begin_ns) const {
  const auto& entries = by_track_[track];
  if (entries.empty() || entries.back().begin_ns < begin_ns)
    return kNoPiece;  // the usual case for calls that are not replayed
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), begin_ns,
      [](const Entry& entry, std::uint64_t wanted) { return entry.begin_ns < wanted; });
  return found->begin_ns == begin_ns ? found->piece : kNoPiece;
}

void WaitSink::add_message(std::size_t task, const analysis::MessageEnd& send,
                           const analysis::MessageEnd& receive) {
  const PieceKey received = index_.at(receive.track, receive.enter_ns);
  if (received == kNoPiece) return;
  const PieceKey sent = index_.at(send.track, send.start_ns);
  const PieceKey posted = index_.at(receive.track, receive.start_ns);
  if (sent == kNoPiece || posted == kNoPiece) return;
  const PieceKey send_end = index_.at(send.track, send.enter_ns);
  std::vector<Need>& needs = tasks_[task].needs;
  needs.push_back({received, sent});
  needs.push_back({received, posted});
  if (send_end == kNoPiece) return;
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
                          const Meeting& meeting) {
  const auto add = [&](std::size_t waiting, std::size_t needed) {
    const bool has_waited = collective.members[needed].start_ns <=
                            collective.members[waiting].leave_ns;
    if (has_waited && meeting.ends[waiting] != kNoPiece && meeting.starts[needed] != kNoPiece) {
      task.needs.push_back({meeting.ends[waiting], meeting.starts[needed]});
    }
  };
  for (std::size_t i = 0; i < meeting.ends.size(); ++i) {
    add(i, i);
    if (!collective.members[i].is_root) continue;
    for (std::size_t j = 0; j < meeting.ends.size(); ++j) {
      if (j == i) continue;
      add(i, j);
      add(j, i);
    }
  }
}

void WaitSink::add_collective(std::size_t task, const analysis::Collective& collective) {
  Meeting meeting;
  std::uint64_t latest_ns = 0;
  for (const analysis::CollectiveEnd& member : collective.members) {
    const PieceKey start = index_.at(member.track, member.start_ns);
    if (start == kNoPiece)
      return;  // it began before the replayed steps: when it could end is unknown
    meeting.starts.push_back(start);
    meeting.ends.push_back(index_.at(member.track, member.enter_ns));
    latest_ns = std::max(latest_ns, member.start_ns);
  }
  const bool all_wait = std::all_of(
      collective.members.begin(), collective.members.end(),
      [latest_ns](const analysis::CollectiveEnd& member) { return member.leave_ns >= latest_ns; });
  if (all_wait || is_synchronous_)
    tasks_[task].meetings.push_back(std::move(meeting));
  else
    add_rooted(tasks_[task], collective, meeting);
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

std::vector<WaitSink::Meeting> WaitSink::take_meetings() {
  std::vector<Meeting> all;
  for (Task& task : tasks_) {
    for (Meeting& meeting : task.meetings) all.push_back(std::move(meeting));
    task.meetings = {};
  }
  std::ranges::sort(all, {}, &Meeting::starts);  // by time, not by the task that found them
  return all;
}

}  // namespace megascope::whatif
