#include "analysis/whatif/waits_between.h"

#include <algorithm>

#include "analysis/whatif/operation_graph.h"

namespace megascope::whatif {
namespace {

/// Below this an MPI library sends without waiting for the receiver.
constexpr std::uint64_t kEagerBytes = 4096;

}  // namespace

PieceIndex::PieceIndex(const std::vector<Piece>& pieces, std::size_t track_count) : by_track_(track_count) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].is_work) by_track_[pieces[i].track].push_back({pieces[i].begin_ns, static_cast<std::uint32_t>(i)});
  }
  for (auto& entries : by_track_) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin_ns < b.begin_ns; });
  }
}

std::uint32_t PieceIndex::at(std::uint32_t track, std::uint64_t begin_ns) const {
  const auto& entries = by_track_[track];
  const auto found = std::lower_bound(entries.begin(), entries.end(), begin_ns, [](const Entry& entry, std::uint64_t wanted) { return entry.begin_ns < wanted; });
  return found != entries.end() && found->begin_ns == begin_ns ? found->piece : kNone;
}

void WaitSink::add_message(std::size_t task, const analysis::MessageEnd& send, const analysis::MessageEnd& receive) {
  const std::uint32_t sent = index_.at(send.track, send.start_ns);
  const std::uint32_t send_end = index_.at(send.track, send.enter_ns);
  const std::uint32_t posted = index_.at(receive.track, receive.start_ns);
  const std::uint32_t received = index_.at(receive.track, receive.enter_ns);
  std::vector<Need>& needs = tasks_[task].needs;
  if (sent == kNone || received == kNone || posted == kNone) return;
  needs.push_back({received, sent});
  needs.push_back({received, posted});
  if (send_end == kNone) return;
  // A send that took more time before its receive was posted than behind that has waited for it.
  const bool is_late = receive.start_ns > send.enter_ns && receive.start_ns < send.leave_ns &&
                       receive.start_ns - send.enter_ns > send.leave_ns - receive.start_ns && send.bytes > kEagerBytes;
  if (!is_synchronous_ && !is_late) return;
  needs.push_back({send_end, posted});
  needs.push_back({send_end, sent});
}

/// Members need the root, and the root the members, as far as they did not leave before.
void WaitSink::add_rooted(Task& task, const analysis::Collective& collective, const Meeting& meeting) {
  const auto add = [&](std::size_t waiting, std::size_t needed) {
    const bool has_waited = collective.members[needed].start_ns <= collective.members[waiting].leave_ns;
    if (has_waited && meeting.ends[waiting] != kNone && meeting.starts[needed] != kNone) {
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
    meeting.starts.push_back(index_.at(member.track, member.start_ns));
    meeting.ends.push_back(index_.at(member.track, member.enter_ns));
    latest_ns = std::max(latest_ns, member.start_ns);
  }
  // Begun before what is replayed: when it could end is not known.
  if (std::find(meeting.starts.begin(), meeting.starts.end(), kNone) != meeting.starts.end()) return;
  const bool all_wait = std::all_of(collective.members.begin(), collective.members.end(),
                                    [latest_ns](const analysis::CollectiveEnd& member) { return member.leave_ns >= latest_ns; });
  if (all_wait || is_synchronous_) tasks_[task].meetings.push_back(std::move(meeting));
  else add_rooted(tasks_[task], collective, meeting);
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
  return all;
}

}  // namespace megascope::whatif
