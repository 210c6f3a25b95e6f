#pragma once

#include "analysis/match/outbox.h"
#include "core/record/id_map.h"
#include "core/record/message_series.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Names the messages of one process while its calls go by (MessageOrder does it for a process that
/// is read as a whole): an end goes to the outbox when it is complete and its name is sure. The
/// number of a receive in its series is that of its posting; behind a receive with a wildcard that
/// is still open and fits the same messages, it is known when that one is. Memory: messages in
/// flight, and a count for every series.
///
/// Calls in order of entry. What was cancelled does not count, but a send does.
class MessageNaming {
 public:
  explicit MessageNaming(const ProcessDefinitions& process) : series_(process) {}

  /// end: of what the fact tells, but its name. Blocking ends are complete.
  void send(const Fact& fact, const MessageEnd& end, Outbox& out);
  void receive(const Fact& fact, const MessageEnd& end, Outbox& out);
  /// Starts a send, posts a receive, takes a message by a matched probe (kMatched: fact.request
  /// names the message). The end is to be filled in by the caller, as it was left by another
  /// message, before the next call.
  MessageEnd& start_send(const Fact& fact);
  MessageEnd& post(const Fact& fact);
  /// The end that a request stands for, which is complete and now to be filled in; nullptr where it
  /// is not known. Then give().
  MessageEnd* take(RequestId request);
  /// fact: of a receive that was taken, what was received.
  void give(const Fact& fact, Outbox& out);
  void cancel(RequestId request, Outbox& out);
  /// After the last call: sends that were started go out, receives that never completed do not.
  void finish(Outbox& out);

  std::int32_t partner(const Fact& fact) const { return series_.partner(fact); }

 private:
  /// What a receive takes.
  struct Pattern {
    CommId comm = kNoComm;
    std::int32_t peer = kNoPeer;
    std::int32_t tag = 0;
  };
  struct Open {
    MessageEnd end;
    std::uint64_t series = 0;
    std::uint64_t number = 0;
    Pattern pattern;
    RequestId request = kNoRequest;
    bool is_send = false;
    bool is_numbered = false;
    bool is_complete = false;
    bool is_used = false;
  };
  using Index = std::uint32_t;

  static bool is_wild(const Pattern& pattern) {
    return pattern.peer == kAnySource || pattern.tag == kAnyTag;
  }
  static bool do_overlap(const Pattern& a, const Pattern& b);
  static Pattern pattern_of(const Fact& fact) { return {fact.comm, fact.peer, fact.tag}; }
  bool must_wait(const Pattern& pattern) const;
  Index add_open(const Fact& fact, bool is_send);
  void number(Open& open);
  void emit(Index index, Outbox& out);
  void settle(bool is_at_end, Outbox& out);
  void take_number_back(const Open& cancelled);
  void release(Index index);

  MessageSeries series_;
  IdMap<std::uint64_t, std::uint64_t> sent_;  ///< messages of each series so far
  IdMap<std::uint64_t, std::uint64_t> received_;
  RequestMap<Index> by_request_;  ///< index + 1
  std::vector<Open> open_;
  std::vector<Index> free_;
  Index taken_ = 0;
  std::vector<Index> waiting_;  ///< receives without a number, in order of posting
};

}  // namespace megascope::analysis
