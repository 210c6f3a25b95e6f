#include "core/record/message_order.h"

#include "core/base/hash.h"
#include "core/base/id_map.h"
#include "core/record/flow_ids.h"
#include "core/record/merged_calls.h"
#include "core/record/request_map.h"

#include <algorithm>
#include <utility>

namespace megascope {

/// The pass over one process's calls. A *posting* is a send or receive in posting order. It holds
/// its series; 0 if it belongs to none. Slots of locations refer to postings by index +
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
    events::visit(
        fact,
        events::Handler{
            [&](events::Send send) {
              slots.push_back(send.is_blocking() ? post(series_.sent(send))
                                                 : open(send.request(), series_.sent(send)));
            },
            [this](events::PostedReceive receive) {
              if (!was_probed(receive.request()))
                open(receive.request(), is_wild(receive) ? 0 : series_.received(receive));
            },
            [this](events::MatchedProbe probe) {
              open(probe.request(), series_.received(probe));
              if (probe.request() != kNoRequest) probed_[probe.request()] = true;
            },
            [&](events::Receive receive) {
              const bool is_new = receive.is_blocking() && receive.request() == kNoRequest;
              slots.push_back(is_new ? post(series_.received(receive)) : complete(receive));
            },
            [this](events::Completion completion) {
              using Way = events::Completion::Way;
              if (completion.way() == Way::kOneSided) return;
              const std::uint64_t posting = close(completion.request());
              if (completion.way() == Way::kCancelled && posting != 0) postings_[posting - 1] = 0;
            },
            events::Ignores<events::FoundMessage, events::RequestUse, events::Collective,
                            events::CollectiveCompletion, events::CommChange, events::RmaOperation,
                            events::RmaSync, events::WindowUse, events::FileTransfer,
                            events::FileUse, events::FileCollective, events::Error,
                            events::LocalBytes, events::CallSite, events::Value, events::Left>()});
  }

  std::uint64_t post(std::uint64_t series) {
    postings_.push_back(series);
    return postings_.size();
  }
  std::uint64_t open(RequestId request, std::uint64_t series) {
    const std::uint64_t posting = post(series);
    if (request != kNoRequest) open_[request] = posting;
    return posting;
  }
  static bool is_wild(events::PostedReceive receive) {
    return receive.peer() == kAnySource || receive.tag() == kAnyTag;
  }
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
  std::uint64_t complete(events::Receive receive) {
    const std::uint64_t posting = close(receive.request());
    if (posting != 0) postings_[posting - 1] = series_.received(receive);
    return posting;
  }

  /// Replaces the series of each posting by the identifier of its message.
  void count_postings() {
    IdMap<std::uint64_t, std::uint64_t> counts;
    std::uint64_t last = 0;
    std::uint64_t* count = nullptr;
    for (std::uint64_t& posting : postings_) {
      if (posting == 0) continue;
      if (posting != last) count = &counts[posting];
      last = posting;
      posting = FlowIds::of_message(posting, (*count)++);
    }
  }

  const RecordSource& source_;
  std::int32_t world_rank_;
  FlowIds series_;
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
