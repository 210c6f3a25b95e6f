#include "analysis/match/collective_join.h"

#include "analysis/match/collective_flow.h"
#include "analysis/match/message_join.h"

#include <algorithm>
#include <utility>

namespace megascope::analysis {
namespace {

std::uint64_t key_of(const CollectiveEnd& end) {
  return (std::uint64_t{end.comm} + 1) << 32 | end.sequence;
}

void sort_participants(Mismatch& mismatch) {
  for (Mismatch::Participant& participant : mismatch.participants)
    std::ranges::sort(participant.world_ranks);
  std::ranges::stable_sort(mismatch.participants,
                           [](const Mismatch::Participant& a, const Mismatch::Participant& b) {
                             return a.world_ranks.size() > b.world_ranks.size();
                           });
}

}  // namespace

CollectiveJoin::Group& CollectiveJoin::group(CommTable::Index comm) {
  Group& group = groups_[comm];
  if (group.members.empty()) {
    group.members = tables_.comms.members(comm);
    std::ranges::sort(group.members);
    group.present_count = static_cast<std::size_t>(std::ranges::count_if(
        group.members, [&](std::int32_t rank) { return states_.of(rank).has_trace; }));
  }
  return group;
}

void CollectiveJoin::add(const CollectiveEnd& end, Matching& result, MatchSink& sink) {
  std::uint32_t& slot = by_number_[key_of(end)];
  if (slot == 0) {
    if (free_.empty()) {
      open_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(open_.size()) - 1);
    }
    slot = free_.back() + 1;
    free_.pop_back();
    open_[slot - 1].is_used = true;
  }
  const std::uint32_t index = slot - 1;
  open_[index].members.push_back(end);
  ++waiting_count_;
  if (open_[index].members.size() >= group(end.comm).present_count) close(index, result, sink);
}

CollectiveShape CollectiveJoin::shape_of(const CollectiveEnd& end) const {
  return {.function = tables_.functions.function(end.function).name,
          .root = end.root,
          .bytes = end.block_bytes,
          .block_count = end.block_count};
}

/// Returns whether all members agree; records a mismatch if not.
bool CollectiveJoin::compare(const std::vector<CollectiveEnd>& members, Matching& result) {
  const CollectiveEnd& first = members.front();
  const bool is_alike = std::ranges::all_of(members, [&](const CollectiveEnd& end) {
    if (end.function != first.function || end.root != first.root) return false;
    return end.block_bytes == first.block_bytes || do_match(shape_of(end), shape_of(first));
  });
  if (is_alike) return true;
  Mismatch mismatch{.comm = first.comm, .sequence = first.sequence, .participants = {}};
  mismatch.what = Mismatch::What::kBytes;
  for (const CollectiveEnd& end : members) {
    const CollectiveShape shape = shape_of(end);
    auto participant = std::ranges::find_if(
        mismatch.participants, [&](const auto& known) { return do_match(known.shape, shape); });
    if (participant == mismatch.participants.end())
      participant = mismatch.participants.insert(participant, {.shape = shape, .world_ranks = {}});
    participant->world_ranks.push_back(end.world_rank);
    if (end.root != first.root && mismatch.what == Mismatch::What::kBytes)
      mismatch.what = Mismatch::What::kRoot;
    if (end.function != first.function) mismatch.what = Mismatch::What::kFunction;
  }
  note(std::move(mismatch), result);
  return false;
}

void CollectiveJoin::note(Mismatch&& mismatch, Matching& result) {
  ++result.mismatch_count;
  sort_participants(mismatch);
  const auto found = mismatches_.find(mismatch.comm);
  if (found == mismatches_.end()) {
    mismatches_.emplace(mismatch.comm, std::move(mismatch));
  } else if (mismatch.sequence < found->second.sequence) {
    found->second = std::move(mismatch);
  }
}

/// missing: receives the world ranks of the members that did not enter.
Unmatched CollectiveJoin::why_partial(const Group& group, const std::vector<CollectiveEnd>& members,
                                      std::vector<std::int32_t>& missing) const {
  std::vector<std::int32_t> present;
  Unmatched why = Unmatched::kNoPartner;
  for (const CollectiveEnd& end : members) {
    present.push_back(end.world_rank);
    if (end.is_pending) why = Unmatched::kEnded;
  }
  std::ranges::sort(present);
  std::ranges::set_difference(group.members, present, std::back_inserter(missing));
  for (const std::int32_t rank : missing)
    why = std::min(why, why_unmatched(states_, members.front().world_rank, rank));
  return why;
}

void CollectiveJoin::check_order(const Collective& collective, Matching& result) const {
  const FunctionTable::Function& function = tables_.functions.function(collective.function);
  const CollectiveEnd& first = collective.members.front();
  if (!is_binding(function, first)) return;
  const LastNeeded last(collective, flow_of(function),
                        tables_.comms.entry(collective.comm).kind == CommKind::kInter);
  for (const CollectiveEnd& end : collective.members) {
    const CollectiveEnd* needed = last.of(end);
    if (needed != nullptr) result.check_order(needed->start_ns, end.leave_ns);
  }
}

void CollectiveJoin::close(std::uint32_t index, Matching& result, MatchSink& sink) {
  Open& open = open_[index];
  const std::vector<CollectiveEnd>& members = open.members;
  const CollectiveEnd& first = members.front();
  const Group& all = group(first.comm);
  const bool all_left = std::ranges::none_of(members, &CollectiveEnd::is_pending);
  const bool is_alike = compare(members, result);
  const bool is_complete = all_left && members.size() >= all.members.size();
  if (is_complete) {
    ++result.collective_count;
  } else {
    std::vector<std::int32_t> missing;
    const Unmatched why = why_partial(all, members, missing);
    ++result.partial_collectives[static_cast<std::size_t>(why)];
    if (why == Unmatched::kNoPartner && is_alike) {
      Mismatch mismatch{.comm = first.comm,
                        .sequence = first.sequence,
                        .what = Mismatch::What::kCount,
                        .participants = {}};
      mismatch.participants.push_back(
          {.shape = shape_of(first), .count = first.sequence + 1, .world_ranks = {}});
      for (const CollectiveEnd& end : members)
        mismatch.participants.back().world_ranks.push_back(end.world_rank);
      mismatch.participants.push_back(
          {.shape = {}, .count = first.sequence, .world_ranks = std::move(missing)});
      note(std::move(mismatch), result);
    }
  }
  const Collective collective{.comm = first.comm,
                              .sequence = first.sequence,
                              .function = first.function,
                              .is_whole = is_complete && is_alike,
                              .members = members};
  if (collective.is_whole) check_order(collective, result);
  sink.add_collective(task_, collective);
  std::uint32_t unused = 0;
  by_number_.take(key_of(first), unused);
  waiting_count_ -= members.size();
  open.members.clear();
  open.is_used = false;
  free_.push_back(index);
}

void CollectiveJoin::give_up(const std::vector<bool>& has_finished, Matching& result,
                             MatchSink& sink) {
  for (std::uint32_t index = 0; index < open_.size(); ++index) {
    if (!open_[index].is_used) continue;
    const Group& all = group(open_[index].members.front().comm);
    const bool may_come = std::ranges::any_of(all.members, [&](std::int32_t rank) {
      if (!states_.of(rank).has_trace || has_finished[static_cast<std::size_t>(rank)]) return false;
      return std::ranges::none_of(open_[index].members,
                                  [&](const CollectiveEnd& end) { return end.world_rank == rank; });
    });
    if (!may_come) close(index, result, sink);
  }
}

void CollectiveJoin::take_mismatches(std::vector<Mismatch>& mismatches) {
  for (auto& [comm, mismatch] : mismatches_) mismatches.push_back(std::move(mismatch));
  mismatches_.clear();
}

}  // namespace megascope::analysis
