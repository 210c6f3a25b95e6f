#include "analysis/match/rank_reader.h"

#include "analysis/common/collective_step.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

bool is_other_collective(FactKind kind) {
  return kind == FactKind::kWinCreated || kind == FactKind::kWinFreed || kind == FactKind::kFence ||
         kind == FactKind::kFileOpened || kind == FactKind::kFileCollective;
}

bool later(const Meeting& a, const Meeting& b) { return a.time_ns > b.time_ns; }

}  // namespace

RankReader::RankReader(const RecordSource& source, const MatchTables& tables,
                       std::size_t process_index, MatchSink& sink)
    : tables_(tables),
      sink_(sink),
      definitions_(source.process(source.world_ranks()[process_index])),
      world_rank_(source.world_ranks()[process_index]),
      process_index_(process_index),
      first_track_(tables.first_track(process_index)),
      lacks_messages_(tables.states.of(world_rank_).lacks_messages),
      functions_(definitions_),
      calls_(source, world_rank_),
      naming_(definitions_),
      wait_point_counts_(definitions_.locations.size()),
      totals_(definitions_.locations.size()),
      probes_(definitions_.locations.size()) {
  for (Slot slot = 0; slot < slot_count(definitions_); ++slot) {
    const CommTable::Index index = tables.comms.of(world_rank_, slot);
    const CommDefinition* comm = comm_of_slot(definitions_, slot);
    comm_of_slot_.push_back(index);
    is_sure_.push_back(index != CommTable::kNone && comm != nullptr &&
                       tables.comms.entry(index).is_sure && comm->kind != CommKind::kRemote);
    has_all_ranks_.push_back(comm != nullptr &&
                             rank_count(comm->members) + rank_count(comm->remote_members) >=
                                 source.world_size());
  }
  met_on_.resize(comm_of_slot_.size());
  for (const RegionDefinition& region : definitions_.regions) {
    if (region.name == "MPI_Finalize") finalize_region_ = region.id;
    if (region.name == "MPI_Init") init_regions_[0] = region.id;
    if (region.name == "MPI_Init_thread") init_regions_[1] = region.id;
  }
  call_ = calls_.next(location_);
}

void RankReader::read_until(std::uint64_t limit_ns, Outbox& out) {
  while (call_ != nullptr && call_->enter_ns < limit_ns) {
    add(*call_, location_, out);
    call_ = calls_.next(location_);
  }
  if (call_ == nullptr && !is_finished_) finish(out);
}

void RankReader::add(const Call& call, LocationId location, Outbox& out) {
  sink_.add_call(first_track_ + location, call);
  TrackTotals& totals = totals_[location];
  totals.call_count += call.count;
  if (call.region == init_regions_[0] ||
      call.region == init_regions_[1]) {  // time before MPI_Init belongs to the launcher
    totals.first_ns = call.leave_ns;
    has_begun_ = true;
  } else {
    has_finalized_ = has_finalized_ || call.region == finalize_region_;
    if (call.depth == 0) totals.mpi_ns += time_inside(call);
    totals.first_ns = std::min(totals.first_ns, call.enter_ns);
  }
  totals.last_ns = std::max(totals.last_ns, call.leave_ns);
  if (call.facts.empty() && call.posted.empty()) return;
  Now now{.call = &call,
          .track = first_track_ + location,
          .function = &functions_.function(call.region)};
  for (const Fact& fact : call.facts) {
    now.has_sends = now.has_sends || fact.kind == FactKind::kSend ||
                    fact.kind == FactKind::kSendComplete;
    now.has_receives = now.has_receives || fact.kind == FactKind::kRecv ||
                       fact.kind == FactKind::kRecvComplete;
  }
  for (const Fact& fact : call.facts) add_fact(fact, now, out);
  for (const Fact& fact : call.posted) add_posted(fact, now, out);
}

void RankReader::add_fact(const Fact& fact, Now& now, Outbox& out) {
  switch (fact.kind) {
    case FactKind::kSend:
      return add_blocking_send(fact, now, out);
    case FactKind::kRecv:
      return add_blocking_receive(fact, now, out);
    case FactKind::kSendRequest:
      return add_start(fact, now, true);
    case FactKind::kRecvRequest:
      return add_start(fact, now, false);
    case FactKind::kMatched:
      return add_matched_probe(fact, now);
    case FactKind::kSendComplete:
    case FactKind::kRecvComplete:
      return complete_message(fact, now, out);
    case FactKind::kRequestFreed:
      if (naming_.take(fact.request) != nullptr) naming_.give(fact, out);
      return;
    case FactKind::kCancelled:
      return naming_.cancel(fact.request, out);
    case FactKind::kProbed:
      if (now.function->use == FunctionTable::Use::kPoll) return;
      wait_point_of(now);
      probes_[now.track - first_track_].fact = fact;
      begin(probes_[now.track - first_track_].end, fact, now, false);
      return end(probes_[now.track - first_track_].end, now);
    case FactKind::kCollective:
    case FactKind::kCollectiveRequest:
      return add_collective({slot_of_comm(definitions_, fact.comm), fact.sequence, &fact}, now,
                            out);
    case FactKind::kCollectiveComplete:
      return complete_collective(fact, now, out);
    default:
      if (!is_other_collective(fact.kind)) return;
      for_each_collective(definitions_, now.call->facts, [&](const CollectiveStep& step) {
        if (step.fact == &fact) add_collective(step, now, out);
      });
  }
}

/// Adds a fact of a call that had not returned when the trace ended: an argument of the call.
void RankReader::add_posted(const Fact& fact, Now& now, Outbox& out) {
  if (fact.kind == FactKind::kSend) {
    MessageEnd message;
    begin(message, fact, now, true);
    if (!lacks_messages_ && message.partner >= 0) naming_.send(fact, message, out);
  } else if (fact.kind == FactKind::kCollective) {
    add_collective({slot_of_comm(definitions_, fact.comm), fact.sequence, &fact}, now, out);
  }
}

/// Returns the call's number among the wait points of its track, and adds it if it is new;
/// kNoWaitPoint for a call that does not wait.
std::uint32_t RankReader::wait_point_of(Now& now) {
  if (now.wait_point != kNoWaitPoint || now.function->use == FunctionTable::Use::kPoll ||
      now.call->is_pending)
    return now.wait_point;
  now.wait_point = wait_point_counts_[now.track - first_track_]++;
  sink_.add_wait_point(now.track, {now.call->enter_ns, now.call->leave_ns, now.call->region});
  return now.wait_point;
}

Meeting RankReader::last_met(Slot comm) const {
  const Meeting here = comm < met_on_.size() ? met_on_[comm] : Meeting{};
  return later(here, met_all_) ? here : met_all_;
}

RankReader::Partner& RankReader::partner_of(MessageEnd& message) {
  if (message.partner_index == kNoWaitPoint) {
    std::uint32_t& index = partner_index_[static_cast<std::uint64_t>(message.partner) + 1];
    if (index == 0) {
      partners_.emplace_back();
      index = static_cast<std::uint32_t>(partners_.size());
    }
    message.partner_index = index - 1;
  }
  return partners_[message.partner_index];
}

/// Sets all fields of a message end from the call that starts it. fact: has the partner, unless it
/// is a wildcard.
void RankReader::begin(MessageEnd& message, const Fact& fact, const Now& now, bool is_send) {
  const std::uint32_t wait_points = now.wait_point != kNoWaitPoint
                                        ? now.wait_point
                                        : wait_point_counts_[now.track - first_track_];
  message = {.start_ns = now.call->enter_ns,
             .enter_ns = now.call->enter_ns,
             .leave_ns = now.call->enter_ns,
             .bytes = fact.bytes,
             .met_at_start = last_met(fact.comm),
             .met_at_end = {},
             .track = now.track,
             .wait_point_track = now.track,
             .start_wait_point = wait_points,
             .comm = fact.comm < comm_of_slot_.size() ? comm_of_slot_[fact.comm] : CommTable::kNone,
             .world_rank = world_rank_,
             .partner = naming_.partner(fact),
             .tag = fact.tag,
             .is_send = is_send};
  if (message.partner < 0) return;
  Partner& partner = partner_of(message);
  Meeting& before = is_send ? partner.sent_start : partner.received_start;
  if (later(before, message.met_at_start)) message.met_at_start = before;
  before = {message.start_ns, wait_points};
}

/// Sets the fields that describe the completion: the message completes in this call.
void RankReader::end(MessageEnd& message, Now& now) {
  message.wait_point = wait_point_of(now);
  message.wait_point_track = now.track;
  message.enter_ns = now.call->enter_ns;
  message.leave_ns = now.call->leave_ns;
  message.is_alone = message.is_send ? !now.has_receives : !now.has_sends;
  if (message.partner < 0) return;
  message.met_at_end = message.comm == CommTable::kNone
                           ? met_all_
                           : last_met(static_cast<Slot>(now.call->comm));
  Partner& partner = partner_of(message);
  Meeting& before = message.is_send ? partner.sent_end : partner.received_end;
  if (later(before, message.met_at_end)) message.met_at_end = before;
  before = {message.leave_ns, wait_point_counts_[now.track - first_track_]};
}

void RankReader::add_blocking_send(const Fact& fact, Now& now, Outbox& out) {
  if (lacks_messages_) {
    ++unnamed_sends_;
    return;
  }
  wait_point_of(now);
  MessageEnd message;
  begin(message, fact, now, true);
  if (message.partner < 0) return;
  end(message, now);
  naming_.send(fact, message, out);
}

void RankReader::add_blocking_receive(const Fact& fact, Now& now, Outbox& out) {
  if (fact.request != kNoRequest) return complete_message(fact, now, out);
  if (lacks_messages_) {
    ++unnamed_receives_;
    return;
  }
  wait_point_of(now);
  MessageEnd message;
  begin(message, fact, now, false);
  if (message.partner < 0) return;
  Probe& probe = probes_[now.track - first_track_];
  const bool was_probed = probe.fact.comm == fact.comm && probe.fact.peer == fact.peer &&
                          probe.fact.tag == fact.tag && probe.fact.kind == FactKind::kProbed;
  end(message, now);
  if (was_probed) {  // the wait was in the probe
    const std::uint64_t leave_ns = probe.end.leave_ns;
    message = probe.end;
    message.leave_ns = leave_ns;
    message.bytes = fact.bytes;
    probe.fact.kind = FactKind::kNone;
  }
  naming_.receive(fact, message, out);
}

void RankReader::add_start(const Fact& fact, Now& now, bool is_send) {
  if (lacks_messages_) return;
  if (is_send) return begin(naming_.start_send(fact), fact, now, true);
  bool was_probed = false;
  if (probed_.size() != 0 && probed_.take(fact.request, was_probed))
    return;  // the matched probe has posted it
  begin(naming_.post(fact), fact, now, false);
}

void RankReader::add_matched_probe(const Fact& fact, Now& now) {
  if (lacks_messages_) return;
  wait_point_of(now);
  MessageEnd& message = naming_.post(fact);
  begin(message, fact, now, false);
  end(message, now);
  probed_[fact.request] = true;
}

void RankReader::complete_message(const Fact& fact, Now& now, Outbox& out) {
  if (lacks_messages_) {
    ++(fact.kind == FactKind::kSendComplete ? unnamed_sends_ : unnamed_receives_);
    return;
  }
  if (fact.kind == FactKind::kRecv) {
    bool was_probed = false;
    probed_.take(fact.request, was_probed);
  }
  MessageEnd* message = naming_.take(fact.request);
  if (message == nullptr) return;
  if (message->wait_point == kNoWaitPoint) {  // else the wait was in the matched probe
    if (!message->is_send) {
      message->partner = naming_.partner(fact);
      message->tag = fact.tag;
    }
    end(*message, now);
  }
  if (!message->is_send) message->bytes = fact.bytes;
  naming_.give(fact, out);
}

void RankReader::add_collective(const CollectiveStep& step, Now& now, Outbox& out) {
  if (step.slot >= comm_of_slot_.size() || !is_sure_[step.slot]) {
    ++unsure_collectives_;
    return;
  }
  const Fact& fact = *step.fact;
  const CommDefinition& comm = *comm_of_slot(definitions_, step.slot);
  const CollectiveShape shape = shape_of(*now.function, comm, fact);
  const bool is_request = fact.kind == FactKind::kCollectiveRequest;
  const bool is_reported = is_request || fact.kind == FactKind::kCollective;
  if (!is_request) wait_point_of(now);
  CollectiveEnd end{.start_ns = now.call->enter_ns,
                    .enter_ns = now.call->enter_ns,
                    .leave_ns = now.call->leave_ns,
                    .block_bytes = shape.bytes,
                    .met = last_met(step.slot),
                    .track = now.track,
                    .wait_point_track = now.track,
                    .start_wait_point = now.wait_point != kNoWaitPoint
                                            ? now.wait_point
                                            : wait_point_counts_[now.track - first_track_],
                    .wait_point = now.wait_point,
                    .comm = comm_of_slot_[step.slot],
                    .sequence = step.sequence,
                    .function = tables_.functions.of(process_index_, now.call->region),
                    .root = shape.root,
                    .block_count = static_cast<std::int32_t>(shape.block_count),
                    .comm_rank = comm.my_rank,
                    .world_rank = world_rank_,
                    .is_pending = now.call->is_pending};
  end.is_root = is_reported && (comm.kind == CommKind::kInter ? fact.peer == kSelfRoot
                                                              : fact.peer == comm.my_rank);
  end.is_second_group = comm.kind == CommKind::kInter && !comm.members.empty() &&
                        !comm.remote_members.empty() &&
                        comm.remote_members.front().first < comm.members.front().first;
  if (!is_request || fact.request == kNoRequest) {
    if (!end.is_pending) {
      met_on_[step.slot] = {end.leave_ns, wait_point_counts_[now.track - first_track_]};
      if (has_all_ranks_[step.slot]) met_all_ = met_on_[step.slot];
    }
    return out.add(end);
  }
  std::uint32_t index = static_cast<std::uint32_t>(collectives_.size());
  if (free_collectives_.empty()) {
    collectives_.push_back(end);
  } else {
    index = free_collectives_.back();
    free_collectives_.pop_back();
    collectives_[index] = end;
  }
  open_collectives_[fact.request] = index + 1;
}

void RankReader::complete_collective(const Fact& fact, Now& now, Outbox& out) {
  std::uint32_t index = 0;
  if (!open_collectives_.take(fact.request, index)) return;
  CollectiveEnd& end = collectives_[--index];
  end.wait_point = wait_point_of(now);
  end.wait_point_track = now.track;
  end.enter_ns = now.call->enter_ns;
  end.leave_ns = now.call->leave_ns;
  out.add(end);
  free_collectives_.push_back(index);
}

/// A trace that contains MPI_Init, or no calls, also contains MPI_Finalize if it is complete.
bool RankReader::is_cut_short() const {
  const bool has_calls = std::ranges::any_of(
      totals_, [](const TrackTotals& totals) { return totals.call_count != 0; });
  return tables_.states.of(world_rank_).has_ended && !has_finalized_ && (has_begun_ || !has_calls);
}

void RankReader::finish(Outbox& out) {
  is_finished_ = true;
  naming_.finish(out);
  std::vector<bool> is_free(collectives_.size());
  for (const std::uint32_t index : free_collectives_) is_free[index] = true;
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    if (is_free[i]) continue;
    collectives_[i].is_pending = true;  // did not complete
    out.add(collectives_[i]);
  }
}

}  // namespace megascope::analysis
