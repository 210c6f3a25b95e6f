#pragma once

#include "analysis/common/comm_table.h"
#include "core/record/source.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace megascope::analysis {

/// Messages that fit a receive or are of a send's series.
struct MessageQuery {
  CommTable::Index comm = CommTable::kNone;
  std::int32_t source = kNoPeer;       ///< world rank, or kAnySource
  std::int32_t destination = kNoPeer;  ///< world rank
  std::int32_t tag = 0;                ///< or kAnyTag

  auto operator<=>(const MessageQuery&) const = default;
};

/// A send that is being asked about: which of its series it is.
struct SendQuery {
  std::int32_t world_rank = 0;
  LocationId location = 0;
  RequestId request = kNoRequest;  ///< kNoRequest: the call that the thread is in
  std::uint64_t since_ns = 0;      ///< entry of the call that started it

  auto operator<=>(const SendQuery&) const = default;
};

/// How many messages of the series in question were sent and received. A second pass over the calls
/// of those processes that can tell; memory: the questions. MPI matches the n-th send of a series
/// with the n-th receive that fits (MPI-4.1 §3.5).
class MessageCounts {
 public:
  void ask(const MessageQuery& query) { answers_.try_emplace(query); }
  /// query: the series, no wildcards.
  void ask(const SendQuery& send, const MessageQuery& query) {
    ask(query);
    call_sites_[send] = {query, 0};
  }
  void count(const RecordSource& source, const CommTable& comms, unsigned jobs);

  /// Sends that were started, also those still going on. 0 for what was not asked.
  std::uint64_t sent(const MessageQuery& query) const { return answer(query).sent; }
  /// Receives that have returned, or whose message was taken by a matched probe.
  std::uint64_t taken(const MessageQuery& query) const { return answer(query).taken; }
  /// Sends of the series that were started before this one.
  std::uint64_t sent_before(const SendQuery& send) const;

 private:
  struct Answer {
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
  };
  struct CallSite {
    MessageQuery query;
    std::uint64_t before = 0;
  };
  friend class MessageCounting;
  Answer answer(const MessageQuery& query) const;

  std::map<MessageQuery, Answer> answers_;
  std::map<SendQuery, CallSite> call_sites_;
};

}  // namespace megascope::analysis
