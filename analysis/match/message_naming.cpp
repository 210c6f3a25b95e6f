#include "analysis/match/message_naming.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// Of receives behind open wildcards, that are looked at again when one of those completes.
constexpr std::size_t kMostBlockers = 64;

}  // namespace

bool MessageNaming::do_overlap(const Fact& a, const Fact& b) {
  if (a.comm != b.comm) return false;
  const bool same_peer = a.peer == b.peer || a.peer == kAnySource || b.peer == kAnySource;
  return same_peer && (a.tag == b.tag || a.tag == kAnyTag || b.tag == kAnyTag);
}

bool MessageNaming::must_wait(const Fact& pattern) const {
  if (is_wild(pattern)) return true;
  return std::ranges::any_of(waiting_, [&](Index index) { return do_overlap(open_[index].pattern, pattern); });
}

MessageNaming::Index MessageNaming::add_open(const Fact& fact, const MessageEnd& end) {
  Index index = static_cast<Index>(open_.size());
  if (free_.empty()) {
    open_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Open& open = open_[index];
  open = {};
  open.end = end;
  open.pattern = fact;
  open.request = fact.request;
  open.is_used = true;
  if (fact.request != kNoRequest) by_request_[fact.request] = index + 1;
  return index;
}

void MessageNaming::number(Open& open) {
  open.series = open.end.is_send ? series_.sent(open.pattern) : series_.received(open.pattern);
  if (open.series != 0) open.number = (open.end.is_send ? sent_ : received_)[open.series]++;
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

void MessageNaming::send(const Fact& fact, const MessageEnd& end, Outbox& out) {
  const std::uint64_t series = series_.sent(fact);
  if (series == 0) return;
  MessageEnd named = end;
  named.name = MessageSeries::name(series, sent_[series]++);
  out.add(named);
}

void MessageNaming::receive(const Fact& fact, const MessageEnd& end, Outbox& out) {
  if (!waiting_.empty() && must_wait(fact)) {
    const Index index = add_open(fact, end);
    open_[index].is_complete = true;
    waiting_.push_back(index);
    return;
  }
  const std::uint64_t series = series_.received(fact);
  if (series == 0) return;
  MessageEnd named = end;
  named.name = MessageSeries::name(series, received_[series]++);
  out.add(named);
}

void MessageNaming::start_send(const Fact& fact, const MessageEnd& end) { number(open_[add_open(fact, end)]); }

void MessageNaming::post(const Fact& fact, const MessageEnd& end) {
  const bool waits = must_wait(fact);
  const Index index = add_open(fact, end);
  if (waits) {
    waiting_.push_back(index);
  } else {
    number(open_[index]);
  }
}

MessageEnd* MessageNaming::find(RequestId request) {
  Index index = 0;
  if (request == kNoRequest || !by_request_.take(request, index)) return nullptr;
  by_request_[request] = index;
  return &open_[index - 1].end;
}

void MessageNaming::complete(const Fact& fact, Outbox& out) {
  Index index = 0;
  if (fact.request == kNoRequest || !by_request_.take(fact.request, index)) return;
  Open& open = open_[--index];
  open.request = kNoRequest;
  if (open.is_numbered) return emit(index, out);
  open.is_complete = true;
  if (fact.peer >= 0) {
    open.pattern.comm = fact.comm;
    open.pattern.peer = fact.peer;
    open.pattern.tag = fact.tag;
  }
  settle(false, out);
}

void MessageNaming::cancel(RequestId request, Outbox& out) {
  Index index = 0;
  if (request == kNoRequest || !by_request_.take(request, index)) return;
  const Open cancelled = open_[--index];
  if (cancelled.is_numbered && !cancelled.end.is_send) take_number_back(cancelled);
  std::erase(waiting_, index);
  release(index);
  if (!cancelled.is_numbered) settle(false, out);
}

/// MPI gives messages to the receives of a series in order: those posted after one that is cancelled got none yet.
void MessageNaming::take_number_back(const Open& cancelled) {
  if (cancelled.series == 0) return;
  --received_[cancelled.series];
  for (Open& open : open_) {
    const bool is_later = open.is_used && open.is_numbered && !open.end.is_send && open.series == cancelled.series &&
                          open.number > cancelled.number;
    if (is_later) --open.number;
  }
}

/// Numbers those that no open wildcard before them may precede.
void MessageNaming::settle(bool is_at_end, Outbox& out) {
  std::vector<Index> kept;
  std::size_t at = 0;
  for (; at < waiting_.size() && (is_at_end || kept.size() < kMostBlockers); ++at) {
    Open& open = open_[waiting_[at]];
    if (is_at_end && !open.is_complete) {
      if (is_wild(open.pattern)) continue;  // it got nothing
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
    if (open_[index].is_used && open_[index].end.is_send) emit(index, out);
  }
  open_.clear();
  free_.clear();
}

}  // namespace megascope::analysis
