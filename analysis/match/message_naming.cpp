#include "analysis/match/message_naming.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// Largest number of blocked receives that settle() examines; bounds the time of one call.
constexpr std::size_t kMaxBlockers = 64;

}  // namespace

bool MessageNaming::do_overlap(const Pattern& a, const Pattern& b) {
  if (a.comm != b.comm) return false;
  const bool same_peer = a.peer == b.peer || a.peer == kAnySource || b.peer == kAnySource;
  return same_peer && (a.tag == b.tag || a.tag == kAnyTag || b.tag == kAnyTag);
}

bool MessageNaming::must_wait(const Pattern& pattern) const {
  if (is_wild(pattern)) return true;
  return std::ranges::any_of(
      waiting_, [&](Index index) { return do_overlap(open_[index].pattern, pattern); });
}

MessageNaming::Index MessageNaming::add_open(events::Message message, bool is_send) {
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(open_.size()));
    open_.emplace_back();
  }
  const Index index = free_.back();
  free_.pop_back();
  Open& open = open_[index];
  open.series = 0;
  open.pattern = message;
  open.request = message.request();
  open.is_send = is_send;
  open.is_numbered = open.is_complete = false;
  open.is_used = true;
  if (open.request != kNoRequest) by_request_[open.request] = index + 1;
  return index;
}

void MessageNaming::number(Open& open) {
  open.series = open.is_send ? series_.sent(open.pattern) : series_.received(open.pattern);
  if (open.series != 0) open.number = (open.is_send ? sent_ : received_)[open.series]++;
  open.is_numbered = true;
}

void MessageNaming::release(Index index) {
  open_[index].is_used = false;
  free_.push_back(index);
}

void MessageNaming::emit(Index index, Outbox& out) {
  Open& open = open_[index];
  if (open.series != 0) {
    open.end.name = MessageSeries::name(open.series, open.number);
    out.add(open.end);
  }
  release(index);
}

void MessageNaming::send(events::Send send, const MessageEnd& end, Outbox& out) {
  const std::uint64_t series = series_.sent(send);
  if (series == 0) return;
  MessageEnd named = end;
  named.name = MessageSeries::name(series, sent_[series]++);
  out.add(named);
}

void MessageNaming::receive(events::Receive receive, const MessageEnd& end, Outbox& out) {
  if (!waiting_.empty() && must_wait(receive)) {
    const Index index = add_open(receive, false);
    open_[index].end = end;
    open_[index].is_complete = true;
    waiting_.push_back(index);
    return;
  }
  const std::uint64_t series = series_.received(receive);
  if (series == 0) return;
  MessageEnd named = end;
  named.name = MessageSeries::name(series, received_[series]++);
  out.add(named);
}

MessageEnd& MessageNaming::start_send(events::Send send) {
  Open& open = open_[add_open(send, true)];
  number(open);
  return open.end;
}

MessageEnd& MessageNaming::post(events::Message receive) {
  const bool waits = must_wait(receive);
  const Index index = add_open(receive, false);
  if (waits) {
    waiting_.push_back(index);
  } else {
    number(open_[index]);
  }
  return open_[index].end;
}

MessageEnd* MessageNaming::take(RequestId request) {
  if (request == kNoRequest || !by_request_.take(request, taken_)) return nullptr;
  Open& open = open_[--taken_];
  open.request = kNoRequest;
  return &open.end;
}

void MessageNaming::give(events::Receive message, Outbox& out) {
  Open& open = open_[taken_];
  if (!open.is_numbered && message.peer() >= 0) open.pattern = message;
  give(out);
}

void MessageNaming::give(Outbox& out) {
  Open& open = open_[taken_];
  if (open.is_numbered) return emit(taken_, out);
  open.is_complete = true;
  settle(false, out);
}

void MessageNaming::cancel(RequestId request, Outbox& out) {
  Index index = 0;
  if (request == kNoRequest || !by_request_.take(request, index)) return;
  const Open cancelled = open_[--index];
  if (cancelled.is_numbered && !cancelled.is_send) take_number_back(cancelled);
  std::erase(waiting_, index);
  release(index);
  if (!cancelled.is_numbered) settle(false, out);
}

/// Receives of a series get messages in order of posting, so that those posted after a cancelled
/// one had none yet: their numbers decrease by one.
void MessageNaming::take_number_back(const Open& cancelled) {
  if (cancelled.series == 0) return;
  --received_[cancelled.series];
  for (Open& open : open_) {
    const bool is_later = open.is_used && open.is_numbered && !open.is_send &&
                          open.series == cancelled.series && open.number > cancelled.number;
    if (is_later) --open.number;
  }
}

/// Numbers the receives that no earlier open wildcard receive competes with.
void MessageNaming::settle(bool is_at_end, Outbox& out) {
  std::vector<Index> kept;
  std::size_t at = 0;
  for (; at < waiting_.size() && (is_at_end || kept.size() < kMaxBlockers); ++at) {
    Open& open = open_[waiting_[at]];
    if (is_at_end && !open.is_complete) {
      if (is_wild(open.pattern)) continue;  // it received no message
      number(open);
      continue;
    }
    const bool is_blocked = is_wild(open.pattern) || std::ranges::any_of(kept, [&](Index before) {
                              return do_overlap(open_[before].pattern, open.pattern);
                            });
    if (is_blocked) {
      kept.push_back(waiting_[at]);
      continue;
    }
    number(open);
    if (open.is_complete) emit(waiting_[at], out);
  }
  kept.insert(kept.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(at), waiting_.end());
  waiting_.swap(kept);
}

void MessageNaming::finish(Outbox& out) {
  settle(true, out);
  for (Index index = 0; index < open_.size(); ++index) {
    if (open_[index].is_used && open_[index].is_send) emit(index, out);
  }
  open_.clear();
  free_.clear();
}

}  // namespace megascope::analysis
