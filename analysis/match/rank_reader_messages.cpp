#include "analysis/match/rank_reader.h"

/// The messages of a process.
namespace megascope::analysis {
namespace {

bool later(const SyncPoint& a, const SyncPoint& b) { return a.time_ns > b.time_ns; }

}  // namespace

RankReader::Partner& RankReader::Partners::of(MessageEnd& message) {
  if (message.partner_index == kNoWaitPoint) {
    std::uint32_t& index = index_[static_cast<std::uint64_t>(message.partner) + 1];
    if (index == 0) {
      all_.emplace_back();
      index = static_cast<std::uint32_t>(all_.size());
    }
    message.partner_index = index - 1;
  }
  return all_[message.partner_index];
}

/// Sets all fields of a message end from the call that starts it. message: has the partner,
/// unless it is a wildcard.
void RankReader::begin(MessageEnd& end, events::Message message, const Now& now, bool is_send) {
  const std::uint32_t wait_points = now.wait_point != kNoWaitPoint
                                        ? now.wait_point
                                        : wait_point_counts_[now.track - first_track_];
  end = {.start_ns = now.call->enter_ns,
         .enter_ns = now.call->enter_ns,
         .leave_ns = now.call->enter_ns,
         .bytes = message.bytes(),
         .sync_before_start = comms_.last_sync(message.comm()),
         .sync_before_end = {},
         .track = now.track,
         .wait_point_track = now.track,
         .start_wait_point = wait_points,
         .comm = comms_.index_of(message.comm()),
         .world_rank = world_rank_,
         .partner = naming_.partner(message),
         .tag = message.tag(),
         .is_send = is_send};
  if (end.partner < 0) return;
  Partner& partner = partners_.of(end);
  SyncPoint& before = is_send ? partner.sent_start : partner.received_start;
  if (later(before, end.sync_before_start)) end.sync_before_start = before;
  before = {end.start_ns, wait_points};
}

/// Sets the fields that describe the completion: the message completes in this call.
void RankReader::end(MessageEnd& message, Now& now) {
  message.wait_point = wait_point_of(now);
  message.wait_point_track = now.track;
  message.enter_ns = now.call->enter_ns;
  message.leave_ns = now.call->leave_ns;
  message.is_alone = message.is_send ? !now.has_receives : !now.has_sends;
  if (message.partner < 0) return;
  message.sync_before_end = message.comm == CommTable::kNone
                                ? comms_.last_sync_all()
                                : comms_.last_sync(static_cast<Slot>(now.call->comm));
  Partner& partner = partners_.of(message);
  SyncPoint& before = message.is_send ? partner.sent_end : partner.received_end;
  if (later(before, message.sync_before_end)) message.sync_before_end = before;
  before = {message.leave_ns, wait_point_counts_[now.track - first_track_]};
}

void RankReader::add_blocking_send(events::Send send, Now& now, Outbox& out) {
  if (lacks_messages_) {
    ++unmatched_.sends;
    return;
  }
  wait_point_of(now);
  MessageEnd message;
  begin(message, send, now, true);
  if (message.partner < 0) return;
  end(message, now);
  naming_.send(send, message, out);
}

void RankReader::add_blocking_receive(events::Receive receive, Now& now, Outbox& out) {
  if (receive.request() != kNoRequest) return complete_receive(receive, now, out);
  if (lacks_messages_) {
    ++unmatched_.receives;
    return;
  }
  wait_point_of(now);
  MessageEnd message;
  begin(message, receive, now, false);
  if (message.partner < 0) return;
  Probe& probe = probes_[now.track - first_track_];
  const bool was_probed = probe.is_set && probe.envelope == MessageSeries::Envelope(receive);
  end(message, now);
  if (was_probed) {  // the wait was in the probe
    const std::uint64_t leave_ns = probe.end.leave_ns;
    message = probe.end;
    message.leave_ns = leave_ns;
    message.bytes = receive.bytes();
    probe.is_set = false;
  }
  naming_.receive(receive, message, out);
}

void RankReader::add_start(events::Send send, Now& now) {
  if (!lacks_messages_) begin(naming_.start_send(send), send, now, true);
}

void RankReader::add_start(events::PostedReceive receive, Now& now) {
  if (lacks_messages_) return;
  bool was_probed = false;
  if (probed_.size() != 0 && probed_.take(receive.request(), was_probed))
    return;  // the matched probe has posted it
  begin(naming_.post(receive), receive, now, false);
}

void RankReader::add_probe(events::FoundMessage message, Now& now) {
  if (message.is_ready_request() || now.function->mpi.use == FunctionTable::Use::kPoll) return;
  wait_point_of(now);
  Probe& probe = probes_[now.track - first_track_];
  probe.is_set = true;
  probe.envelope = message;
  begin(probe.end, message, now, false);
  end(probe.end, now);
}

void RankReader::add_matched_probe(events::MatchedProbe probe, Now& now) {
  if (lacks_messages_) return;
  wait_point_of(now);
  MessageEnd& message = naming_.post(probe);
  begin(message, probe, now, false);
  end(message, now);
  probed_[probe.request()] = true;
}

void RankReader::complete_request(events::Completion completion, Now& now, Outbox& out) {
  using Way = events::Completion::Way;
  switch (completion.way()) {
    case Way::kSent:
      return complete_send(completion, now, out);
    case Way::kFreed:
      if (naming_.take(completion.request()) != nullptr) naming_.give(out);
      return;
    case Way::kCancelled:
      return naming_.cancel(completion.request(), out);
    case Way::kOneSided:
      return;
  }
}

void RankReader::complete_send(events::Completion completion, Now& now, Outbox& out) {
  if (lacks_messages_) {
    ++unmatched_.sends;
    return;
  }
  MessageEnd* message = naming_.take(completion.request());
  if (message == nullptr) return;
  if (message->wait_point == kNoWaitPoint) end(*message, now);
  naming_.give(out);
}

void RankReader::complete_receive(events::Receive receive, Now& now, Outbox& out) {
  if (lacks_messages_) {
    ++unmatched_.receives;
    return;
  }
  if (receive.is_blocking()) {
    bool was_probed = false;
    probed_.take(receive.request(), was_probed);
  }
  MessageEnd* message = naming_.take(receive.request());
  if (message == nullptr) return;
  if (message->wait_point == kNoWaitPoint) {  // else the wait was in the matched probe
    if (!message->is_send) {
      message->partner = naming_.partner(receive);
      message->tag = receive.tag();
    }
    end(*message, now);
  }
  if (!message->is_send) message->bytes = receive.bytes();
  naming_.give(receive, out);
}

}  // namespace megascope::analysis
