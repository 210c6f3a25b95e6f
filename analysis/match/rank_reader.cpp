#include "analysis/match/rank_reader.h"

#include "analysis/common/collective_step.h"

#include <algorithm>

namespace megascope::analysis {
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
      comms_(source, tables, world_rank_),
      wait_point_counts_(definitions_.locations.size()),
      totals_(definitions_.locations.size()),
      probes_(definitions_.locations.size()) {
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
  const MpiFunction& function = functions_.function(call.region).mpi;
  if (function.starts_mpi && !has_begun_) {  // time before MPI_Init belongs to the launcher
    totals.first_ns = call.leave_ns;
    has_begun_ = true;
  } else {
    has_finalized_ = has_finalized_ || function.ends_mpi;
    if (call.depth == 0) totals.mpi_ns += time_inside(call);
    totals.first_ns = std::min(totals.first_ns, call.enter_ns);
  }
  totals.last_ns = std::max(totals.last_ns, call.leave_ns);
  if (call.facts.empty() && call.posted.empty()) return;
  Now now{.call = &call,
          .track = first_track_ + location,
          .function = &functions_.function(call.region)};
  note_directions(now);
  for (const Fact& fact : call.facts) add_fact(fact, now, out);
  for (const Fact& fact : call.posted) add_posted(fact, now, out);
}

void RankReader::note_directions(Now& now) const {
  const events::Handler handler{
      [&now](events::Send send) { now.has_sends = now.has_sends || send.is_blocking(); },
      [&now](events::Completion completion) {
        now.has_sends = now.has_sends || completion.way() == events::Completion::Way::kSent;
      },
      [&now](events::Receive) { now.has_receives = true; },
      events::Ignores<events::PostedReceive, events::MatchedProbe, events::FoundMessage,
                      events::RequestUse, events::Collective, events::CollectiveCompletion,
                      events::CommChange, events::RmaOperation, events::RmaSync, events::WindowUse,
                      events::FileTransfer, events::FileUse, events::FileCollective, events::Error,
                      events::LocalBytes, events::CallSite, events::Value, events::Left>()};
  for (const Fact& fact : now.call->facts) events::visit(fact, handler);
}

void RankReader::add_fact(const Fact& fact, Now& now, Outbox& out) {
  events::visit(fact,
                events::Handler{
                    [&](events::Send send) {
                      if (send.is_blocking()) return add_blocking_send(send, now, out);
                      add_start(send, now);
                    },
                    [&](events::Receive receive) {
                      if (receive.is_blocking()) return add_blocking_receive(receive, now, out);
                      complete_receive(receive, now, out);
                    },
                    [&](events::PostedReceive receive) { add_start(receive, now); },
                    [&](events::MatchedProbe probe) { add_matched_probe(probe, now); },
                    [&](events::Completion completion) { complete_request(completion, now, out); },
                    [&](events::FoundMessage message) { add_probe(message, now); },
                    [&](events::Collective collective) { add_collective(collective, now, out); },
                    [&](events::CollectiveCompletion end) { complete_collective(end, now, out); },
                    // Some of them are collectives.
                    [&](events::RmaSync sync) {
                      if (sync.sync() == events::RmaSync::Sync::kFence)
                        add_other_collective(fact, now, out);
                    },
                    [&](events::FileUse use) {
                      if (use.use() == events::FileUse::Use::kOpened)
                        add_other_collective(fact, now, out);
                    },
                    events::on<events::WindowUse, events::FileCollective>(
                        [&](auto) { add_other_collective(fact, now, out); }),
                    events::Ignores<events::RequestUse, events::CommChange, events::RmaOperation,
                                    events::FileTransfer, events::Error, events::LocalBytes,
                                    events::CallSite, events::Value, events::Left>()});
}

/// Adds a fact of a call that had not returned when the trace ended: an argument of the call.
void RankReader::add_posted(const Fact& fact, Now& now, Outbox& out) {
  const auto send = events::as<events::Send>(fact);
  if (send && send->is_blocking()) {
    MessageEnd message;
    begin(message, *send, now, true);
    if (!lacks_messages_ && message.partner >= 0) naming_.send(*send, message, out);
  }
  const auto collective = events::as<events::Collective>(fact);
  if (collective && collective->is_blocking()) add_collective(*collective, now, out);
}

/// Returns the call's number among the wait points of its track, and adds it if it is new;
/// kNoWaitPoint for a call that does not wait.
std::uint32_t RankReader::wait_point_of(Now& now) {
  if (now.wait_point != kNoWaitPoint || now.function->mpi.use == FunctionTable::Use::kPoll ||
      now.call->is_pending)
    return now.wait_point;
  now.wait_point = wait_point_counts_[now.track - first_track_]++;
  sink_.add_wait_point(now.track, {now.call->enter_ns, now.call->leave_ns, now.call->region});
  return now.wait_point;
}

void RankReader::add_collective(events::Collective collective, Now& now, Outbox& out) {
  add_collective({slot_of_comm(definitions_, collective.comm()), collective.sequence(),
                  &collective.fact(), collective},
                 now, out);
}

/// Adds the event if it is a collective on a window or file, or creates one.
void RankReader::add_other_collective(const Fact& fact, Now& now, Outbox& out) {
  for_each_collective(definitions_, now.call->facts, [&](const CollectiveStep& step) {
    if (step.fact == &fact) add_collective(step, now, out);
  });
}

void RankReader::add_collective(const CollectiveStep& step, Now& now, Outbox& out) {
  if (!comms_.is_sure(step.slot)) {
    ++unmatched_.unsure_collectives;
    return;
  }
  const CommDefinition& comm = *comm_of_slot(definitions_, step.slot);
  const CollectiveShape shape = shape_of(*now.function, comm, step.collective);
  const bool is_request = step.collective && !step.collective->is_blocking();
  if (!is_request) wait_point_of(now);
  CollectiveEnd end{.start_ns = now.call->enter_ns,
                    .enter_ns = now.call->enter_ns,
                    .leave_ns = now.call->leave_ns,
                    .block_bytes = shape.bytes,
                    .last_sync = comms_.last_sync(step.slot),
                    .track = now.track,
                    .wait_point_track = now.track,
                    .start_wait_point = now.wait_point != kNoWaitPoint
                                            ? now.wait_point
                                            : wait_point_counts_[now.track - first_track_],
                    .wait_point = now.wait_point,
                    .comm = comms_.index_of(step.slot),
                    .sequence = step.sequence,
                    .function = tables_.functions.of(process_index_, now.call->region),
                    .root = shape.root,
                    .block_count = static_cast<std::int32_t>(shape.block_count),
                    .comm_rank = comm.my_rank,
                    .world_rank = world_rank_,
                    .is_pending = now.call->is_pending};
  end.is_root = step.collective && step.collective->root() ==
                                       (comm.kind == CommKind::kInter ? kSelfRoot : comm.my_rank);
  end.is_second_group = comm.kind == CommKind::kInter && !comm.members.empty() &&
                        !comm.remote_members.empty() &&
                        comm.remote_members.front().first < comm.members.front().first;
  if (!is_request || step.collective->request() == kNoRequest) {
    if (!end.is_pending)
      comms_.note_sync(step.slot, {end.leave_ns, wait_point_counts_[now.track - first_track_]});
    return out.add(end);
  }
  open_collectives_.add(step.collective->request(), end);
}

void RankReader::complete_collective(events::CollectiveCompletion collective, Now& now,
                                     Outbox& out) {
  std::optional<CollectiveEnd> end = open_collectives_.take(collective.request());
  if (!end) return;
  end->wait_point = wait_point_of(now);
  end->wait_point_track = now.track;
  end->enter_ns = now.call->enter_ns;
  end->leave_ns = now.call->leave_ns;
  out.add(*end);
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
  open_collectives_.for_each([&out](CollectiveEnd& end) {
    end.is_pending = true;  // did not complete
    out.add(end);
  });
}

}  // namespace megascope::analysis
