#include "core/record/message_order.h"

#include "core/record/hash.h"
#include "core/record/id_map.h"
#include "core/record/merged_calls.h"
#include "core/record/message_series.h"

#include <algorithm>
#include <utility>

namespace megascope {

/// The pass over one process's calls. A *posting* is a send or receive in posting order. It holds
/// the hash of its series; 0 if it belongs to none. Slots of locations refer to postings by index +
/// 1.
class MessageScan {
 public:
  MessageScan(const RecordSource& source, std::int32_t world_rank)
      : source_(source), world_rank_(world_rank), series_(source.process(world_rank)) {
    result_.flow_ids_.resize(source.process(world_rank).locations.size());
  }

  MessageOrder run() {
    MergedCalls calls(source_, world_rank_);
    LocationId location = 0;
    while (const Call* call = calls.next(location)) {
      for (const Fact& fact : call->facts) add(fact, result_.flow_ids_[location]);
    }
    if (lacks_messages())
      postings_.assign(
          postings_.size(),
          0);  // the count does not start at the first message, so that identifiers would be wrong
    count_postings();
    for (auto& slots : result_.flow_ids_) {
      for (std::uint64_t& slot : slots) slot = slot == 0 ? 0 : postings_[slot - 1];
    }
    return std::move(result_);
  }

 private:
  bool lacks_messages() const {
    return source_.process(world_rank_).info.has_message_gaps ||
           std::ranges::any_of(source_.process(world_rank_).locations,
                               &LocationDefinition::lacks_beginning);
  }
  void add(const Fact& fact, std::vector<std::uint64_t>& slots) {
    switch (fact.kind) {
      case FactKind::kSend:
        return slots.push_back(post(sent(fact)));
      case FactKind::kSendRequest:
        return slots.push_back(open(fact, sent(fact)));
      case FactKind::kRecvRequest:
        if (!was_probed(fact.request)) open(fact, is_wild(fact) ? 0 : received(fact));
        return;
      case FactKind::kMatched:
        open(fact, received(fact));
        if (fact.request != kNoRequest) probed_[fact.request] = true;
        return;
      case FactKind::kRecv:
        return slots.push_back(fact.request == kNoRequest ? post(received(fact)) : complete(fact));
      case FactKind::kRecvComplete:
        return slots.push_back(complete(fact));
      case FactKind::kSendComplete:
      case FactKind::kRequestFreed:
        close(fact.request);
        return;
      case FactKind::kCancelled:
        if (const std::uint64_t posting = close(fact.request); posting != 0)
          postings_[posting - 1] = 0;
        return;
      default:
        return;
    }
  }

  std::uint64_t post(std::uint64_t series) {
    postings_.push_back(series);
    return postings_.size();
  }
  std::uint64_t open(const Fact& fact, std::uint64_t series) {
    const std::uint64_t posting = post(series);
    if (fact.request != kNoRequest) open_[fact.request] = posting;
    return posting;
  }
  static bool is_wild(const Fact& fact) { return fact.peer == kAnySource || fact.tag == kAnyTag; }
  /// Returns true once for a request that is the message of a matched probe.
  bool was_probed(RequestId request) {
    bool value = false;
    return probed_.size() != 0 && probed_.take(request, value);
  }
  std::uint64_t close(RequestId request) {
    std::uint64_t posting = 0;
    if (open_.take(request, posting)) was_probed(request);
    return posting;
  }
  /// Returns the posting of a receive that completes, now that its series is known; 0 if it was
  /// posted before the trace began.
  std::uint64_t complete(const Fact& fact) {
    const std::uint64_t posting = close(fact.request);
    if (posting != 0) postings_[posting - 1] = received(fact);
    return posting;
  }

  std::uint64_t sent(const Fact& fact) const { return series_.sent(fact); }
  std::uint64_t received(const Fact& fact) const { return series_.received(fact); }

  /// Replaces the series of each posting by the identifier of its message.
  void count_postings() {
    IdMap<std::uint64_t, std::uint64_t> counts;
    std::uint64_t last = 0;
    std::uint64_t* count = nullptr;
    for (std::uint64_t& posting : postings_) {
      if (posting == 0) continue;
      if (posting != last) count = &counts[posting];
      last = posting;
      posting = MessageSeries::name(posting, (*count)++);
    }
  }

  const RecordSource& source_;
  std::int32_t world_rank_;
  MessageSeries series_;
  std::vector<std::uint64_t> postings_;
  RequestMap<std::uint64_t> open_;  ///< posting of each request in flight
  RequestMap<bool> probed_;         ///< requests that a matched probe created
  MessageOrder result_;
};

MessageOrder MessageOrder::of(const RecordSource& source, std::int32_t world_rank) {
  return MessageScan(source, world_rank).run();
}

std::uint64_t collective_flow_id(std::uint64_t comm_global_name, std::uint32_t sequence) {
  constexpr std::uint64_t
      kCollective = 0xC011EC71FE000000U;  // separates collectives from every series of messages
  return not_zero(combined(combined(mix(comm_global_name), kCollective), sequence));
}

}  // namespace megascope
