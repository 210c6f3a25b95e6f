#include "plugin/cli/hang/groups.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace megascope::cli {
namespace {

using analysis::RankEnd;
using analysis::ThreadState;
using analysis::Waiting;
using analysis::Want;

/// A thread and its state. Threads with equal keys are in the same state.
struct Item {
  std::int32_t world_rank = 0;
  const ThreadState* thread = nullptr;  ///< nullptr: the rank has no trace
  const Waiting* waiting = nullptr;     ///< nullptr: it does not wait
  std::string thread_name;              ///< empty if the rank has one thread
  std::string key;                      ///< state without the ranks waited for
  std::uint64_t since_ns = 0;
};

std::string thread_name(const analysis::ProcessState& state, LocationId location) {
  const auto calling = std::ranges::count_if(
      state.threads, [](const ThreadState& thread) { return thread.has_called; });
  if (calling < 2) return {};
  const std::string& name = state.definitions->locations[location].name;
  return name.empty() ? fmt::format("thread {}", location) : name;
}

/// The ranks that a thread waits for, as a key. own_rank: relative to that rank; kNoPeer: absolute.
std::string target_key(const Waiting& waiting, std::int32_t own_rank, std::int32_t world_size) {
  std::string key;
  for (const Want& want : waiting.wants) {
    const bool is_collective = want.kind == Want::Kind::kCollective;
    const bool is_relative = own_rank != kNoPeer && want.partner >= 0 && !is_collective;
    const std::int32_t peer = is_relative ? (want.partner - own_rank + world_size) % world_size
                                          : want.partner;
    key += fmt::format("/{} {} {} {} {} {}{}{}", static_cast<int>(want.kind), want.comm,
                       is_collective ? 0 : peer, want.tag, want.sequence, want.is_met,
                       want.is_known, want.may_have_left);
    if (is_collective) key += want.partner == waiting.world_rank ? " root" : "";
  }
  return key;
}

void add_items(const HangView& view, const analysis::ProcessState& state,
               std::vector<Item>& items) {
  const RankEnd rank_end = view.report.rank_ends[static_cast<std::size_t>(state.world_rank)];
  for (const ThreadState& thread : state.threads) {
    const bool has_ended = thread.has_ended || rank_end == RankEnd::kFinalized;
    if (!thread.has_called || (has_ended && thread.location != 0)) continue;
    Item item{.world_rank = state.world_rank, .thread = &thread, .thread_name = {}, .key = {}};
    item.thread_name = rank_end == RankEnd::kFinalized ? "" : thread_name(state, thread.location);
    item.waiting = thread.is_inside || thread.poll_count != 0
                       ? find_waiting(view.report, state.world_rank, thread.location)
                       : nullptr;
    const bool polls = item.waiting != nullptr && item.waiting->is_polling;
    item.since_ns = polls              ? thread.poll_since_ns
                    : thread.is_inside ? thread.enter_ns
                                       : thread.leave_ns;
    item.key = fmt::format("{}/{}/{}/{}/{}", static_cast<int>(rank_end), thread.is_inside || polls,
                           item.thread_name, view.function(state.world_rank, thread.region),
                           has_ended);
    if (item.waiting != nullptr) item.key += "/" + call_text(view, *item.waiting);
    items.push_back(std::move(item));
  }
  if (std::ranges::none_of(state.threads,
                           [](const ThreadState& thread) { return thread.has_called; })) {
    items.push_back({.world_rank = state.world_rank, .thread_name = {}, .key = "nothing"});
  }
}

std::string times_text(const HangView& view, const std::vector<const Item*>& group) {
  const auto [first, last] = std::ranges::minmax(group, {},
                                                 [](const Item* item) { return item->since_ns; });
  const RankEnd rank_end = view.report
                               .rank_ends[static_cast<std::size_t>(group.front()->world_rank)];
  const bool is_over = rank_end != RankEnd::kUnfinished && rank_end != RankEnd::kFinalized;
  if (is_over && group.size() == 1)
    return "since " + human_duration(static_cast<std::int64_t>(first->since_ns));
  if (first->since_ns == last->since_ns) return since_text(view, first->since_ns);
  const std::string earliest = human_duration(static_cast<std::int64_t>(first->since_ns));
  const std::string latest = human_duration(static_cast<std::int64_t>(last->since_ns));
  if (earliest == latest) return since_text(view, last->since_ns);
  std::string text = "since " + earliest + " to " + latest;
  if (view.report.is_running && !is_over && view.now_ns > last->since_ns) {
    text += " (at least " +
            human_duration(static_cast<std::int64_t>(view.now_ns - last->since_ns)) + " so far)";
  }
  return text;
}

std::string where_text(const HangView& view, const Item& item, const std::string& since) {
  if (item.thread == nullptr) return "has no recorded call";
  const RankEnd rank_end = view.report.rank_ends[static_cast<std::size_t>(item.world_rank)];
  const std::string function = view.function(item.world_rank, item.thread->region);
  if (rank_end == RankEnd::kFinalized) return "has finalized: in MPI_Finalize or ended " + since;
  if (rank_end == RankEnd::kAborted) return "called MPI_Abort, " + since;
  if (item.waiting != nullptr && item.waiting->is_polling) {
    return fmt::format("polls with {}, {} times {}", call_text(view, *item.waiting),
                       human_count(item.thread->poll_count), since);
  }
  if (item.waiting != nullptr) return "in " + call_text(view, *item.waiting) + " " + since;
  if (item.thread->is_inside) return "in " + function + " " + since;
  return "outside MPI " + since + ", after " + function;
}

std::string location_text(const HangView& view, const Item& item, const std::string& since) {
  const RankEnd rank_end = view.report.rank_ends[static_cast<std::size_t>(item.world_rank)];
  const std::string where = where_text(view, item, since);
  return rank_end == RankEnd::kDied ? "has died (its process has ended). It was " + where : where;
}

RankLine line_of(const HangView& view, const std::vector<const Item*>& group,
                 std::int32_t own_rank) {
  const Item& first = *group.front();
  std::vector<std::int32_t> ranks;
  for (const Item* item : group) {
    if (ranks.empty() || ranks.back() != item->world_rank) ranks.push_back(item->world_rank);
  }
  RankLine line{.who = ranks_text(ranks),
                .where = location_text(view, first, times_text(view, group)),
                .what = {}};
  if (!first.thread_name.empty()) line.who += ", " + first.thread_name;
  if (first.waiting != nullptr)
    line.what = "waits for " + wants_text(view, *first.waiting, own_rank);
  return line;
}

using Groups = std::map<std::string, std::vector<const Item*>>;

/// Groups items with equal keys: those that wait for the same ranks, or else for the same ranks
/// relative to their own.
void group_by_target(const HangView& view, const std::vector<const Item*>& alike,
                     std::vector<std::pair<const Item*, RankLine>>& lines) {
  Groups by_rank;
  for (const Item* item : alike) {
    by_rank[item->waiting != nullptr ? target_key(*item->waiting, kNoPeer, 0) : ""].push_back(item);
  }
  Groups by_distance;
  for (const auto& [key, group] : by_rank) {
    if (group.size() > 1 || alike.size() == 1 || group.front()->waiting == nullptr) {
      lines.emplace_back(group.front(), line_of(view, group, kNoPeer));
      continue;
    }
    const Item* item = group.front();
    by_distance[target_key(*item->waiting, item->world_rank, view.source.world_size())].push_back(
        item);
  }
  for (auto& [key, group] : by_distance) {
    std::ranges::sort(group, {}, [](const Item* item) { return item->world_rank; });
    if (group.size() > 2) {
      lines.emplace_back(group.front(), line_of(view, group, group.front()->world_rank));
      continue;
    }
    for (const Item* item : group) lines.emplace_back(item, line_of(view, {item}, kNoPeer));
  }
}

std::vector<RankLine> grouped(const HangView& view, const std::vector<Item>& items) {
  Groups by_key;
  for (const Item& item : items) by_key[item.key].push_back(&item);
  std::vector<std::pair<const Item*, RankLine>> lines;
  for (const auto& [key, alike] : by_key) group_by_target(view, alike, lines);
  std::ranges::stable_sort(lines, {}, [](const auto& line) {
    return std::pair(line.first->world_rank,
                     line.first->thread != nullptr ? line.first->thread->location : 0);
  });
  std::vector<RankLine> result;
  for (auto& [item, line] : lines) result.push_back(std::move(line));
  return result;
}

}  // namespace

std::vector<RankLine> rank_lines(const HangView& view) {
  std::vector<Item> items;
  for (const analysis::ProcessState& state : view.report.processes.states)
    add_items(view, state, items);
  return grouped(view, items);
}

std::vector<RankLine> lines_of_rank(const HangView& view, std::int32_t world_rank) {
  std::vector<Item> items;
  add_items(view, *view.process(world_rank), items);
  return grouped(view, items);
}

}  // namespace megascope::cli
