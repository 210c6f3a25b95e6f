#include "analysis/align/order_constraints.h"

#include "analysis/match/collective_flow.h"

#include <algorithm>

namespace megascope::analysis {

void ConstraintSink::add(Task& task, Track track, std::uint64_t time_ns, bool is_before) const {
  task.found.push_back(
      {tables_.owner(track).process_index, {time_ns, task.group_count, is_before}});
}

void ConstraintSink::add_message(std::size_t number, const MessageEnd& send,
                                 const MessageEnd& receive) {
  if (is_safe(send.start_ns, receive.leave_ns)) return;
  Task& task = tasks_[number];
  add(task, send.track, send.start_ns, true);
  add(task, receive.track, receive.leave_ns, false);
  ++task.group_count;
}

/// One group of all members that depend on others and all members on which they depend. Scans,
/// which would need one group per rank, are omitted.
void ConstraintSink::add_collective(std::size_t number, const Collective& collective) {
  const FunctionTable::Function& function = tables_.functions.function(collective.function);
  const Flow flow = flow_of(function);
  if (!collective.is_whole || flow == Flow::kPrefix ||
      !is_binding(function, collective.members.front()))
    return;
  const bool has_groups = tables_.comms.entry(collective.comm).kind == CommKind::kInter;
  const LastNeeded last(collective, flow, has_groups);
  Task& task = tasks_[number];
  for (const bool second : {false, true}) {
    if (second && !has_groups) break;
    const auto needs = [&](const CollectiveEnd& end) {
      return last.of(end) != nullptr && end.is_second_group == second;
    };
    const auto is_needed = [&](const CollectiveEnd& end) {
      if (flow == Flow::kFromRoot) return end.is_root;
      if (flow == Flow::kToRoot && end.is_root) return false;
      return !has_groups || end.is_second_group != second;
    };
    const bool all_safe = std::ranges::all_of(collective.members, [&](const CollectiveEnd& end) {
      return !needs(end) || is_safe(last.of(end)->start_ns, end.leave_ns);
    });
    if (all_safe) continue;
    for (const CollectiveEnd& end : collective.members) {
      if (is_needed(end)) add(task, end.track, end.start_ns, true);
      if (needs(end)) add(task, end.track, end.leave_ns, false);
    }
    ++task.group_count;
  }
}

OrderConstraints ConstraintSink::take() {
  OrderConstraints all;
  all.by_process.resize(process_count_);
  for (Task& task : tasks_) {
    for (const Found& found : task.found) {
      all.by_process[found.process].push_back(found.moment);
      all.by_process[found.process].back().group += all.group_count;
    }
    all.group_count += task.group_count;
    task = {};
  }
  for (auto& moments : all.by_process) {
    std::ranges::stable_sort(
        moments, [](const OrderConstraints::Moment& a, const OrderConstraints::Moment& b) {
          return a.time_ns != b.time_ns ? a.time_ns < b.time_ns
                                        : a.is_before > b.is_before;  // for calls of length 0
        });
  }
  return all;
}

}  // namespace megascope::analysis
