#include "analysis/match/message_join.h"

namespace megascope::analysis {

Unmatched why_unmatched(const RankStates& states, std::int32_t own_rank, std::int32_t partner) {
  const RankState& own = states.of(own_rank);
  const RankState& other = states.of(partner);
  if (!other.has_trace) return Unmatched::kNoTrace;
  if (own.has_losses || other.has_losses) return Unmatched::kLost;
  return other.has_ended ? Unmatched::kNoPartner : Unmatched::kEnded;
}

void MessageJoin::add(const MessageEnd& end, Matching& result, MatchSink& sink) {
  const RankState& partner = states_.of(end.partner);
  if (!partner.has_trace || partner.lacks_messages)
    return give_up(end, result);  // its ends are not named
  std::uint32_t& slot = by_name_[end.name];
  if (slot == 0) {
    if (free_.empty()) {
      held_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(held_.size()) - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    held_[index] = {end, true};
    slot = index + 1;
    return;
  }
  std::uint32_t index = 0;
  by_name_.take(end.name, index);
  Held& held = held_[--index];
  const MessageEnd& send = end.is_send ? end : held.end;
  const MessageEnd& receive = end.is_send ? held.end : end;
  ++result.message_count;
  if (receive.bytes > send.bytes) ++result.greater_than_sent;
  result.check_order(send.start_ns, receive.leave_ns);
  sink.add_message(task_, send, receive);
  held.is_used = false;
  free_.push_back(index);
}

void MessageJoin::give_up(const MessageEnd& end, Matching& result) const {
  const auto why = static_cast<std::size_t>(why_unmatched(states_, end.world_rank, end.partner));
  ++(end.is_send ? result.unmatched_sends : result.unmatched_receives)[why];
}

void MessageJoin::give_up(const std::vector<bool>& has_finished, Matching& result) {
  for (std::uint32_t index = 0; index < held_.size(); ++index) {
    Held& held = held_[index];
    if (!held.is_used || !has_finished[static_cast<std::size_t>(held.end.partner)]) continue;
    give_up(held.end, result);
    std::uint32_t unused = 0;
    by_name_.take(held.end.name, unused);
    held.is_used = false;
    free_.push_back(index);
  }
}

}  // namespace megascope::analysis
