#pragma once

#include "analysis/common/comm_table.h"
#include "core/record/source.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace megascope::analysis {

/// Selects messages: those that a receive accepts, or those of one series.
struct MessageQuery {
  CommTable::Index comm = CommTable::kNone;
  std::int32_t source = kNoPeer;       ///< world rank, or kAnySource
  std::int32_t destination = kNoPeer;  ///< world rank
  std::int32_t tag = 0;                ///< tag or kAnyTag

  auto operator<=>(const MessageQuery&) const = default;
};

/// A send whose position in its series is to be determined.
struct SendQuery {
  std::int32_t world_rank = 0;
  LocationId location = 0;
  RequestId request = kNoRequest;  ///< kNoRequest: the send call that the thread is in
  std::uint64_t since_ns = 0;      ///< entry of the call that started it

  auto operator<=>(const SendQuery&) const = default;
};

/// Counts the messages of selected series. MPI matches the n-th send of a series with the n-th
/// receive that accepts it (MPI-4.1 §3.5), so that counts show which messages are in flight.
///
/// Use: call ask() for each query, then count() once, then the other functions. count() reads the
/// calls of the senders and receivers of the queries. Memory: the queries. One thread at a time.
class MessageCounts {
 public:
  void ask(const MessageQuery& query) { answers_.try_emplace(query); }
  /// query: the series of the send; without wildcards.
  void ask(const SendQuery& send, const MessageQuery& query) {
    ask(query);
    positions_[send] = {query, 0};
  }
  /// jobs: number of threads. Passes on exceptions of the source.
  void count(const RecordSource& source, const CommTable& comms, unsigned jobs);

  /// Returns the number of sends that were started, including those that have not completed.
  /// Returns 0 if ask() was not called for the query.
  std::uint64_t sent(const MessageQuery& query) const { return answer(query).sent; }
  /// Returns the number of completed receives plus that of messages that a matched probe reserved.
  std::uint64_t taken(const MessageQuery& query) const { return answer(query).taken; }
  /// Returns the number of sends of the series that were started before this send.
  std::uint64_t sent_before(const SendQuery& send) const;

 private:
  struct Answer {
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
  };
  struct SendPosition {
    MessageQuery query;
    std::uint64_t before = 0;
  };
  friend class MessageCounting;
  Answer answer(const MessageQuery& query) const;

  std::map<MessageQuery, Answer> answers_;
  std::map<SendQuery, SendPosition> positions_;
};

}  // namespace megascope::analysis
