#include "analysis/synth/simulation.h"

#include "analysis/synth/work_model.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace megascope::synth {
namespace {

constexpr double kUnknown = -1.0;
constexpr double kCallNs = 400.0;     ///< of a call that does not wait
constexpr double kBetweenNs = 250.0;  ///< from one call to the next
constexpr double kStartNs = 5'000.0;
constexpr std::uint64_t kEagerBytes = 64 << 10;

/// The messages of one (source, destination, tag): the n-th sent is the n-th received.
struct Channel {
  struct Message {
    double sent = kUnknown;
    double posted = kUnknown;
    double send_done = kUnknown;
    double receive_done = kUnknown;
    std::int32_t step = 0;
    int ends_seen = 0;  ///< of 2: both have gone on
  };
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent_count = 0;
  std::uint64_t posted_count = 0;
  std::uint64_t first = 0;  ///< number of messages.front()
  std::deque<Message> messages;

  Message& at(std::uint64_t number) {
    while (number >= first + messages.size()) messages.emplace_back();
    return messages[number - first];
  }
  /// One end has gone on; what both have is forgotten.
  void leave(std::uint64_t number) {
    ++at(number).ends_seen;
    for (; !messages.empty() && messages.front().ends_seen == 2; ++first) messages.pop_front();
  }
};

struct Group {
  std::uint64_t name = 0;
  std::vector<std::int32_t> members;
  std::size_t arrived = 0;
  double latest = 0.0;
  std::vector<double> done;  ///< by number of the reduction
};

struct Request {
  std::size_t channel = 0;
  std::uint64_t number = 0;
  bool is_send = false;
  Fact fact;
};

struct Rank {
  std::vector<Op> ops;
  std::vector<std::size_t> channel_of;  ///< by operation
  std::size_t group_of[kCommRoleCount] = {};
  std::uint64_t reduction_count[kCommRoleCount] = {};
  double work_ns = 0.0;
  std::int32_t work_count = 0;

  std::int32_t step = 0;
  std::size_t at = 0;
  std::int32_t work_index = 0;
  WorkModel::Step state;
  double now = kStartNs;
  double entered = kUnknown;  ///< into the operation at hand, where it waits
  std::vector<Request> requests;
  RequestId next_request = 1;
  bool is_queued = false;
};

class Simulation {
 public:
  Simulation(const RunSpec& spec, const Layout& layout)
      : spec_(spec),
        layout_(layout),
        model_(spec, layout),
        ranks_(static_cast<std::size_t>(spec.rank_count())),
        result_(ranks_.size()) {
    for (std::int32_t rank = 0; rank < spec.rank_count(); ++rank) prepare(rank);
  }

  std::vector<RankCalls> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) wake(static_cast<std::int32_t>(rank));
    while (!queue_.empty()) {
      const std::int32_t rank = queue_.front();
      queue_.pop_front();
      ranks_[static_cast<std::size_t>(rank)].is_queued = false;
      advance(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      store(static_cast<std::int32_t>(rank), kFinalize, ranks_[rank].now + kBetweenNs,
            ranks_[rank].now + kStartNs, kNoComm, {});
    }
    return std::move(result_);
  }

 private:
  void prepare(std::int32_t index) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    rank.ops = spec_.pattern == Pattern::kHalo ? halo_step(spec_, index)
                                               : grid_step(spec_, layout_, index);
    for (std::size_t role = 0; role < kCommRoleCount; ++role)
      join_group(rank, index, static_cast<CommRole>(role));
    for (const Op& op : rank.ops) {
      rank.channel_of.push_back(channel_of(index, op));
      if (op.kind != OpKind::kWork) continue;
      rank.work_ns += static_cast<double>(op.amount);
      ++rank.work_count;
    }
    store(index, kInit, 100.0, kStartNs - kBetweenNs, kNoComm, {});
    rank.state = model_.begin_step(index, 0, rank.work_ns, rank.work_count);
  }

  void join_group(Rank& rank, std::int32_t index, CommRole role) {
    if (layout_.comm_id(role) == kNoComm) return;
    const std::vector<std::int32_t> members = layout_.members(role, index);
    const auto key = std::pair(role, members.front());
    const auto [found, is_new] = group_index_.emplace(key, groups_.size());
    if (is_new)
      groups_.push_back(
          {static_cast<std::uint64_t>(role) << 32 | static_cast<std::uint32_t>(members.front()),
           members,
           0,
           0.0,
           {}});
    rank.group_of[static_cast<std::size_t>(role)] = found->second;
  }

  std::size_t channel_of(std::int32_t rank, const Op& op) {
    const bool is_send = op.kind == OpKind::kSend || op.kind == OpKind::kIsend;
    if (!is_send && op.kind != OpKind::kRecv && op.kind != OpKind::kIrecv) return 0;
    const auto key = is_send ? std::tuple(rank, op.peer_world, op.tag)
                             : std::tuple(op.peer_world, rank, op.tag);
    const auto [found, is_new] = channel_index_.emplace(key, channels_.size());
    if (is_new) {
      channels_.emplace_back();
      channels_.back().from = std::get<0>(key);
      channels_.back().to = std::get<1>(key);
      channels_.back().bytes = op.amount;
    }
    return found->second;
  }

  void wake(std::int32_t index) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    if (rank.is_queued) return;
    rank.is_queued = true;
    queue_.push_back(index);
  }

  void advance(std::int32_t index) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    while (rank.step < spec_.steps) {
      for (; rank.at < rank.ops.size(); ++rank.at) {
        if (!perform(index, rank, rank.ops[rank.at])) return;
        rank.entered = kUnknown;
      }
      rank.at = 0;
      rank.work_index = 0;
      if (++rank.step < spec_.steps)
        rank.state = model_.begin_step(index, rank.step, rank.work_ns, rank.work_count);
    }
  }

  /// False: it waits, and will be woken.
  bool perform(std::int32_t index, Rank& rank, const Op& op) {
    switch (op.kind) {
      case OpKind::kWork:
        rank.now += model_.work_ns(rank.state, index, rank.step, rank.work_index++, op.work_units,
                                   static_cast<double>(op.amount));
        return true;
      case OpKind::kAllreduce:
        return reduce(index, rank, op);
      case OpKind::kWaitall:
        return wait_all(index, rank);
      case OpKind::kIsend:
      case OpKind::kIrecv: {
        const double enter = rank.now + kBetweenNs;
        const Request request = post(rank, op, enter, rank.next_request++);
        rank.requests.push_back(request);
        rank.now = enter + kCallNs;
        store(index, op.kind == OpKind::kIsend ? kIsend : kIrecv, enter, rank.now,
              request.fact.comm, {&request.fact, 1});
        return true;
      }
      default:
        return send_or_receive(index, rank, op);
    }
  }

  Request post(Rank& rank, const Op& op, double time, RequestId id) {
    Request request;
    request.is_send = op.kind == OpKind::kSend || op.kind == OpKind::kIsend;
    request.channel = rank.channel_of[rank.at];
    Channel& channel = channels_[request.channel];
    request.number = request.is_send ? channel.sent_count++ : channel.posted_count++;
    Channel::Message& message = channel.at(request.number);
    if (request.is_send)
      message.sent = time;
    else
      message.posted = time;
    message.step = rank.step;
    settle(channel, message, request.number);
    const FactKind kind = op.kind == OpKind::kSend    ? FactKind::kSend
                          : op.kind == OpKind::kRecv  ? FactKind::kRecv
                          : op.kind == OpKind::kIsend ? FactKind::kSendRequest
                                                      : FactKind::kRecvRequest;
    request.fact = {.kind = kind,
                    .comm = layout_.comm_id(op.comm),
                    .request = id,
                    .peer = op.peer,
                    .tag = op.tag,
                    .bytes = op.amount};
    return request;
  }

  /// Derives the completion of a message from the times known so far.
  void settle(Channel& channel, Channel::Message& message, std::uint64_t number) {
    const bool is_buffered = channel.bytes < kEagerBytes || spec_.pattern == Pattern::kInterleaved;
    if (message.sent >= 0 && is_buffered && message.send_done < 0)
      message.send_done = message.sent + kCallNs;
    if (message.sent < 0 || message.posted < 0) return;
    const double wire = model_.transfer_ns(channel.from, channel.to, message.step, number,
                                           channel.bytes);
    const double begin = is_buffered ? message.sent : std::max(message.sent, message.posted);
    message.receive_done = std::max(message.posted + kCallNs, begin + wire);
    if (!is_buffered) message.send_done = begin + wire;
    wake(channel.from);
    wake(channel.to);
  }

  double done(const Request& request) {
    const Channel::Message& message = channels_[request.channel].at(request.number);
    return request.is_send ? message.send_done : message.receive_done;
  }

  bool send_or_receive(std::int32_t index, Rank& rank, const Op& op) {
    if (rank.entered < 0) {
      rank.entered = rank.now + kBetweenNs;
      rank.requests.push_back(post(rank, op, rank.entered, kNoRequest));
    }
    const Request request = rank.requests.back();
    const double end = done(request);
    if (end < 0) return false;
    rank.requests.pop_back();
    rank.now = std::max(end, rank.entered + kCallNs);
    store(index, request.is_send ? kSend : kRecv, rank.entered, rank.now, request.fact.comm,
          {&request.fact, 1});
    channels_[request.channel].leave(request.number);
    return true;
  }

  bool wait_all(std::int32_t index, Rank& rank) {
    if (rank.entered < 0) rank.entered = rank.now + kBetweenNs;
    double end = rank.entered + kCallNs;
    for (const Request& request : rank.requests) {
      const double one = done(request);
      if (one < 0) return false;
      end = std::max(end, one);
    }
    completions_.clear();
    for (const Request& request : rank.requests) {
      Fact fact{.kind = FactKind::kSendComplete, .request = request.fact.request};
      if (!request.is_send) {
        fact = request.fact;
        fact.kind = FactKind::kRecvComplete;
      }
      completions_.push_back(fact);
      channels_[request.channel].leave(request.number);
    }
    rank.requests.clear();
    rank.now = end;
    store(index, kWaitall, rank.entered, end, kNoComm, completions_);
    return true;
  }

  bool reduce(std::int32_t index, Rank& rank, const Op& op) {
    const auto role = static_cast<std::size_t>(op.comm);
    Group& group = groups_[rank.group_of[role]];
    const std::uint64_t number = rank.reduction_count[role];
    if (rank.entered < 0) {
      rank.entered = rank.now + kBetweenNs;
      group.latest = std::max(group.latest, rank.entered);
      if (++group.arrived == group.members.size()) {
        group.done.push_back(group.latest + model_.reduction_ns(group.name, number,
                                                                group.members.size(), op.amount));
        group.arrived = 0;
        group.latest = 0.0;
        for (const std::int32_t member : group.members) {
          if (member != index) wake(member);
        }
      }
    }
    if (group.done.size() <= number) return false;
    ++rank.reduction_count[role];
    rank.now = group.done[number];
    const Fact fact{.kind = FactKind::kCollective,
                    .comm = layout_.comm_id(op.comm),
                    .sequence = static_cast<std::uint32_t>(number),
                    .bytes = op.amount,
                    .bytes_received = op.amount};
    store(index, kAllreduce, rank.entered, rank.now, fact.comm, {&fact, 1});
    return true;
  }

  void store(std::int32_t index, RegionId region, double enter, double leave, CommId comm,
             std::span<const Fact> facts) {
    RankCalls& to = result_[static_cast<std::size_t>(index)];
    StoredCall call;
    call.enter_ns = static_cast<std::uint64_t>(enter);
    call.leave_ns = static_cast<std::uint64_t>(leave);
    call.first_fact = static_cast<std::uint32_t>(to.facts.size());
    call.comm = comm;
    call.region = region;
    call.fact_count = static_cast<std::uint16_t>(facts.size());
    to.calls.push_back(call);
    to.facts.insert(to.facts.end(), facts.begin(), facts.end());
  }

  const RunSpec& spec_;
  const Layout& layout_;
  WorkModel model_;
  std::vector<Rank> ranks_;
  std::vector<RankCalls> result_;
  std::vector<Channel> channels_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::size_t> channel_index_;
  std::vector<Group> groups_;
  std::map<std::pair<CommRole, std::int32_t>, std::size_t> group_index_;
  std::deque<std::int32_t> queue_;
  std::vector<Fact> completions_;
};

}  // namespace

std::vector<RankCalls> simulate(const RunSpec& spec, const Layout& layout) {
  return Simulation(spec, layout).run();
}

}  // namespace megascope::synth
