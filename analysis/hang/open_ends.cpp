#include "analysis/hang/open_ends.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace megascope::analysis {
namespace {

OpenEnd open_end_of(const ProcessState& state) {
  OpenEnd end{.world_rank = state.world_rank};
  for (const ThreadState& thread : state.threads) {
    const std::uint64_t at_ns = thread.is_inside ? thread.enter_ns : thread.leave_ns;
    if (!thread.has_called || (end.has_called && at_ns <= end.at_ns)) continue;
    end = {.world_rank = state.world_rank,
           .has_called = true,
           .is_inside = thread.is_inside,
           .region = thread.region,
           .at_ns = at_ns};
  }
  return end;
}

/// Determines for each rank without an end whether its waits explain where it stopped.
class Explaining {
 public:
  Explaining(const HangReport& report, const CommTable& comms, const OpenEnds& ends)
      : report_(report), comms_(comms), ends_(ends) {
    awaiting_.resize(report.rank_ends.size());
    for (const OpenEnd& end : ends.ranks) judge(end);
  }

  /// Ranks that wait for no other rank without an end, ascending.
  const std::vector<std::int32_t>& free() const { return free_; }
  /// For some ranks it is unknown whether they could have continued.
  bool is_unsure() const { return is_unsure_; }
  /// Do all other ranks without an end wait for these, directly or through others?
  bool is_awaited_by_all(const std::vector<std::int32_t>& ranks) const {
    std::vector<bool> is_reached(awaiting_.size(), false);
    std::vector<std::int32_t> open = ranks;
    for (const std::int32_t rank : ranks) is_reached[static_cast<std::size_t>(rank)] = true;
    std::size_t count = ranks.size();
    while (!open.empty()) {
      const std::int32_t rank = open.back();
      open.pop_back();
      for (const std::int32_t other : awaiting_[static_cast<std::size_t>(rank)]) {
        if (is_reached[static_cast<std::size_t>(other)]) continue;
        is_reached[static_cast<std::size_t>(other)] = true;
        open.push_back(other);
        ++count;
      }
    }
    return count == ends_.ranks.size();
  }

 private:
  void judge(const OpenEnd& end) {
    const ProcessState& state = *report_.processes.find(end.world_rank);
    bool is_kept = false;
    std::size_t waiting_count = 0;
    for (const ThreadState& thread : state.threads) {
      const Waiting* waiting = find_waiting(report_, end.world_rank, thread.location);
      if (waiting == nullptr) continue;
      ++waiting_count;
      is_kept = keep(*waiting) || is_kept;
    }
    constexpr int kMultiple = 3;
    const bool has_other_thread = state.definitions->info.thread_level >= kMultiple &&
                                  waiting_count < thread_count(state);
    is_unsure_ = is_unsure_ || state.may_be_ahead || (is_kept && has_other_thread);
    if (!is_kept) free_.push_back(end.world_rank);
  }

  static std::size_t thread_count(const ProcessState& state) {
    return static_cast<std::size_t>(std::ranges::count_if(
        state.threads,
        [](const ThreadState& thread) { return thread.has_called && !thread.has_ended; }));
  }

  /// Records the ranks that the thread waits for. Returns false if the trace shows nothing that
  /// prevents the wait from ending.
  bool keep(const Waiting& waiting) {
    std::vector<std::int32_t> partners;
    bool is_known = !waiting.wants.empty();
    bool is_any_met = false;
    for (const Want& want : waiting.wants) {
      const std::size_t before = partners.size();
      if (!want.is_met) is_known = add_partners(waiting, want, partners) && is_known;
      is_any_met = is_any_met || partners.size() == before;
    }
    const bool is_free = partners.empty() || (!waiting.needs_all && is_any_met);
    is_unsure_ = is_unsure_ || (is_free && !is_known);
    if (is_free) return false;
    for (const std::int32_t partner : partners)
      awaiting_[static_cast<std::size_t>(partner)].push_back(waiting.world_rank);
    return true;
  }

  /// Returns false if it is not fully known what the want depends on.
  bool add_partners(const Waiting& waiting, const Want& want, std::vector<std::int32_t>& partners) {
    const auto add = [&](std::int32_t rank) {
      if (rank != waiting.world_rank && ends_.find(rank) != nullptr) partners.push_back(rank);
    };
    if (!want.is_known || want.may_have_left || want.comm == CommTable::kNone) return false;
    if (want.kind == Want::Kind::kCollective) {
      if (!comms_.entry(want.comm).is_sure) return false;
      for (const std::int32_t rank : absent(waiting, want)) add(rank);
      return true;
    }
    if (want.partner >= 0) add(want.partner);
    if (want.partner != kAnySource) return want.partner >= 0;
    for (const std::int32_t rank : comms_.partners(waiting.world_rank, want.comm)) add(rank);
    return true;
  }

  const std::vector<std::int32_t>& absent(const Waiting& waiting, const Want& want) {
    const std::uint64_t function = report_.processes.function(waiting.world_rank, want.region)
                                       .name_hash;
    const auto [found, is_new] = absent_.try_emplace({want.comm, want.sequence, function});
    if (is_new) found->second = not_entered(report_, comms_, waiting, want);
    return found->second;
  }

  const HangReport& report_;
  const CommTable& comms_;
  const OpenEnds& ends_;
  std::vector<std::vector<std::int32_t>> awaiting_;  ///< by world rank: ranks that wait for it
  std::map<std::tuple<CommTable::Index, std::uint32_t, std::uint64_t>, std::vector<std::int32_t>>
      absent_;
  std::vector<std::int32_t> free_;
  bool is_unsure_ = false;
};

void find_first(const HangReport& report, const CommTable& comms, OpenEnds& ends) {
  if (!ends.aborted.empty() || ends.ranks.empty()) return;
  if (ends.ranks.size() == 1) {
    ends.first = {ends.ranks.front().world_rank};
    ends.evidence = FirstEnd::kOnlyOne;
    return;
  }
  const Explaining explained(report, comms, ends);
  const std::vector<std::int32_t>& free = explained.free();
  if (explained.is_unsure() || free.empty() || free.size() == ends.ranks.size() ||
      !explained.is_awaited_by_all(free))
    return;
  const bool all_inside = std::ranges::all_of(
      free, [&](std::int32_t rank) { return ends.find(rank)->is_inside; });
  if (free.size() > 1 && !all_inside) return;  // ranks outside of MPI may have worked
  ends.first = free;
  ends.evidence = free.size() > 1 ? FirstEnd::kOneOf
                  : all_inside    ? FirstEnd::kLeftBehind
                                  : FirstEnd::kAwaited;
}

}  // namespace

const OpenEnd* OpenEnds::find(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(ranks, world_rank, {}, &OpenEnd::world_rank);
  return found != ranks.end() && found->world_rank == world_rank ? &*found : nullptr;
}

OpenEnds find_open_ends(const HangReport& report, const CommTable& comms) {
  OpenEnds ends;
  for (const ProcessState& state : report.processes.states) {
    const RankEnd rank_end = report.rank_ends[static_cast<std::size_t>(state.world_rank)];
    if (rank_end == RankEnd::kAborted) ends.aborted.push_back(state.world_rank);
    const bool is_open = report.is_running ? rank_end == RankEnd::kDied
                                           : rank_end == RankEnd::kUnfinished;
    if (is_open) ends.ranks.push_back(open_end_of(state));
  }
  ends.missing_count = static_cast<std::size_t>(
      std::ranges::count(report.rank_ends, RankEnd::kMissing));
  if (!report.is_running) {
    find_first(report, comms, ends);
  } else if (!ends.ranks.empty()) {
    ends.evidence = FirstEnd::kGone;
    for (const OpenEnd& end : ends.ranks) ends.first.push_back(end.world_rank);
  }
  return ends;
}

}  // namespace megascope::analysis
