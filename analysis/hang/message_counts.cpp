#include "analysis/hang/message_counts.h"

#include "analysis/common/parallel.h"
#include "core/base/hash.h"
#include "core/record/event_view.h"
#include "core/record/merged_calls.h"
#include "core/record/request_map.h"
#include "core/record/world_ranks.h"

#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace megascope::analysis {

/// The pass over one process. Looks up queries by the fields of each message, with and without
/// wildcards.
class MessageCounting {
 public:
  using Answers = std::map<MessageQuery, MessageCounts::Answer>;
  using SendPositions = std::map<SendQuery, MessageCounts::SendPosition>;

  MessageCounting(const RecordSource& source, const CommTable& comms, std::int32_t world_rank)
      : source_(source),
        comms_(comms),
        world_rank_(world_rank),
        world_ranks_(source.process(world_rank)) {}

  void ask(const MessageQuery& query) {
    const Slot comm = comms_.slot_in(world_rank_, query.comm);
    if (comm == kNoSlot) return;
    if (query.source == world_rank_ || query.source == kAnySource) {
      by_key_.emplace(key(kSent, comm, query.destination, query.tag), counts_.size());
    }
    if (query.destination == world_rank_)
      by_key_.emplace(key(kTaken, comm, query.source, query.tag), counts_.size());
    index_[query] = counts_.size();
    counts_.push_back({query, {}});
  }
  /// After the query itself.
  void ask(const SendQuery& send, const MessageQuery& query) {
    by_request_.emplace(send.request, positions_.size());
    positions_.emplace_back(send, MessageCounts::SendPosition{query, 0});
  }

  void run() {
    if (by_key_.empty()) return;
    MergedCalls calls(source_, world_rank_);
    LocationId location = 0;
    while (const Call* call = calls.next(location)) {
      for (const Fact& fact : call->facts) add(fact, *call, location);
      for (const Fact& fact : call->posted) {
        const auto send = events::as<events::Send>(fact);
        if (send && send->is_blocking()) add(*send, *call, location);
      }
    }
  }

  void give(Answers& answers, SendPositions& positions) const {
    for (const auto& [query, count] : counts_) {
      MessageCounts::Answer& answer = answers[query];
      answer.sent += count.sent;
      answer.taken += count.taken;
    }
    for (const auto& [send, position] : positions_) positions[send] = position;
  }

 private:
  enum Role : std::uint64_t { kSent, kTaken };

  static std::uint64_t key(Role role, CommId comm, std::int32_t peer, std::int32_t tag) {
    const auto bits = [](std::int32_t value) {
      return std::uint64_t{static_cast<std::uint32_t>(value)};
    };
    return combined(std::uint64_t{comm} << 1 | role, bits(peer) << 32 | bits(tag));
  }

  void add(const Fact& fact, const Call& call, LocationId location) {
    events::visit(
        fact,
        events::Handler{
            [&](events::Send send) { add(send, call, location); },
            [this](events::Receive receive) {
              if (receive.is_blocking()) {
                if (receive.request() == kNoRequest)
                  take(receive);  // else counted at its matched probe
                return;
              }
              if (bool probed = false; !probed_.take(receive.request(), probed)) take(receive);
            },
            [this](events::MatchedProbe probe) {
              probed_[probe.request()] = true;
              take(probe);
            },
            events::Ignores<events::PostedReceive, events::FoundMessage, events::Completion,
                            events::RequestUse, events::Collective, events::CollectiveCompletion,
                            events::CommChange, events::RmaOperation, events::RmaSync,
                            events::WindowUse, events::FileTransfer, events::FileUse,
                            events::FileCollective, events::Error, events::LocalBytes,
                            events::CallSite, events::Value, events::Left>()});
  }
  void add(events::Send send, const Call& call, LocationId location) {
    const std::int32_t peer = world_ranks_.of(send.comm(), send.peer());
    note_position(send, call, location);
    count(kSent, send, peer);
  }
  void take(events::Message message) {
    count(kTaken, message, world_ranks_.of(message.comm(), message.peer()));
  }

  void count(Role role, events::Message message, std::int32_t peer) {
    if (peer == kNoPeer) return;
    const CommId comm = message.comm();
    count_key(role, key(role, comm, peer, message.tag()));
    count_key(role, key(role, comm, peer, kAnyTag));
    if (role == kSent) return;  // its destination is known
    count_key(role, key(role, comm, kAnySource, message.tag()));
    count_key(role, key(role, comm, kAnySource, kAnyTag));
  }
  void count_key(Role role, std::uint64_t key) {
    const auto [begin, end] = by_key_.equal_range(key);
    for (auto at = begin; at != end; ++at) {
      MessageCounts::Answer& answer = counts_[at->second].second;
      ++(role == kSent ? answer.sent : answer.taken);
    }
  }

  void note_position(events::Send sent, const Call& call, LocationId location) {
    if (by_request_.empty() || (sent.request() == kNoRequest && !call.is_pending)) return;
    const auto [begin, end] = by_request_.equal_range(sent.request());
    for (auto at = begin; at != end; ++at) {
      auto& [send, position] = positions_[at->second];
      if (send.location != location || send.since_ns != call.enter_ns) continue;
      const auto asked = index_.find(position.query);
      if (asked != index_.end()) position.before = counts_[asked->second].second.sent;
    }
  }

  const RecordSource& source_;
  const CommTable& comms_;
  std::int32_t world_rank_;
  WorldRanks world_ranks_;
  std::vector<std::pair<MessageQuery, MessageCounts::Answer>> counts_;
  std::vector<std::pair<SendQuery, MessageCounts::SendPosition>> positions_;
  std::map<MessageQuery, std::size_t> index_;  ///< in counts_
  std::unordered_multimap<std::uint64_t, std::size_t> by_key_;
  std::unordered_multimap<RequestId, std::size_t> by_request_;  ///< in positions_
  RequestMap<bool>
      probed_;  ///< messages that a matched probe reserved and whose receive has not completed
};

MessageCounts::Answer MessageCounts::answer(const MessageQuery& query) const {
  const auto found = answers_.find(query);
  return found != answers_.end() ? found->second : Answer{};
}

std::uint64_t MessageCounts::sent_before(const SendQuery& send) const {
  const auto found = positions_.find(send);
  return found != positions_.end() ? found->second.before : 0;
}

void MessageCounts::count(const RecordSource& source, const CommTable& comms, unsigned jobs) {
  std::map<std::int32_t, std::vector<const MessageQuery*>> by_rank;
  for (const auto& [query, unused] : answers_) {
    std::set<std::int32_t> ranks = {query.destination};
    if (query.source == kAnySource) {
      for (const std::int32_t rank : comms.partners(query.destination, query.comm))
        ranks.insert(rank);
    } else {
      ranks.insert(query.source);
    }
    for (const std::int32_t rank : ranks) by_rank[rank].push_back(&query);
  }
  std::vector<std::int32_t> ranks;
  for (const std::int32_t rank : source.world_ranks()) {
    if (by_rank.contains(rank)) ranks.push_back(rank);
  }
  std::mutex mutex;
  std::map<MessageQuery, Answer> answers;
  std::map<SendQuery, SendPosition> positions;
  for_each_index(ranks.size(), jobs, [&](std::size_t i) {
    MessageCounting counting(source, comms, ranks[i]);
    for (const MessageQuery* query : by_rank.at(ranks[i])) counting.ask(*query);
    for (auto at = positions_.lower_bound({.world_rank = ranks[i]}); at != positions_.end(); ++at) {
      if (at->first.world_rank != ranks[i]) break;
      counting.ask(at->first, at->second.query);
    }
    counting.run();
    const std::lock_guard lock(mutex);
    counting.give(answers, positions);
  });
  for (auto& [query, count] : answers) answers_[query] = count;
  for (auto& [send, position] : positions) positions_[send] = position;
}

}  // namespace megascope::analysis
