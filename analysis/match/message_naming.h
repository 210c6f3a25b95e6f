#pragma once

#include "analysis/match/outbox.h"
#include "core/base/id_map.h"
#include "core/record/message_series.h"
#include "core/record/request_map.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Names the messages of one process while its calls are read in order of entry. (MessageOrder does
/// the same if all calls of the process are read in advance.) A name consists of a series and a
/// number in the series (core/record/message_series.h). An end is added to the outbox when it is
/// complete and its number is final.
///
/// A receive is numbered when it is posted. Exception: a wildcard receive, and a receive posted
/// after an open wildcard receive that accepts the same messages, are numbered when that wildcard
/// receive has completed. Cancelled receives take no number; cancelled sends keep theirs. Memory:
/// messages in flight, and one count per series. One thread.
class MessageNaming {
 public:
  explicit MessageNaming(const ProcessDefinitions& process) : series_(process) {}

  /// Adds a blocking send or receive. end: complete except for its name.
  void send(events::Send send, const MessageEnd& end, Outbox& out);
  void receive(events::Receive receive, const MessageEnd& end, Outbox& out);
  /// For operations that complete in a later call. start_send() is for a nonblocking send, post()
  /// for a posted receive or a matched probe. The request of the event identifies the operation.
  /// The returned end is a reused object with stale values: the caller must set all of them before
  /// the next call of any function of this class.
  MessageEnd& start_send(events::Send send);
  MessageEnd& post(events::Message receive);
  /// Returns the end of a request that has completed; nullptr if the request is unknown. The caller
  /// fills it in and then calls give().
  MessageEnd* take(RequestId request);
  /// Complete the end that take() returned. Use the first form for a receive whose message is
  /// known, and the second for all other operations.
  void give(events::Receive message, Outbox& out);
  void give(Outbox& out);
  /// Reports that the operation of the request was cancelled.
  void cancel(RequestId request, Outbox& out);
  /// Call after the last call of the process. Sends that have not completed are added to the
  /// outbox; receives are not.
  void finish(Outbox& out);

  std::int32_t partner(events::Message message) const { return series_.partner(message); }

 private:
  /// The messages that a receive accepts.
  using Pattern = MessageSeries::Envelope;
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
  bool must_wait(const Pattern& pattern) const;
  Index add_open(events::Message message, bool is_send);
  void number(Open& open);
  void emit(Index index, Outbox& out);
  void settle(bool is_at_end, Outbox& out);
  void take_number_back(const Open& cancelled);
  void release(Index index);

  MessageSeries series_;
  IdMap<std::uint64_t, std::uint64_t> sent_;  ///< messages of each series so far, by series
  IdMap<std::uint64_t, std::uint64_t> received_;
  RequestMap<Index> by_request_;  ///< index + 1
  std::vector<Open> open_;
  std::vector<Index> free_;
  Index taken_ = 0;
  std::vector<Index>
      waiting_;  ///< receives without a number, by index in open_, in order of posting
};

}  // namespace megascope::analysis
