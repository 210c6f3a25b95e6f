#include "analysis/advice/gather.h"

#include <algorithm>

namespace megascope::advice {
namespace {

using analysis::CommTable;
using analysis::WaitKind;

Waiting waiting_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::kLateSender:
      return Waiting::kLateSender;
    case WaitKind::kLateReceiver:
      return Waiting::kLateReceiver;
    case WaitKind::kBarrier:
      return Waiting::kBarrier;
    default:
      return Waiting::kOther;
  }
}

std::uint64_t time_between(std::uint64_t early_ns, std::uint64_t late_ns) {
  return late_ns > early_ns ? late_ns - early_ns : 0;
}

}  // namespace

void Gather::begin(std::size_t task_count) {
  ranks_.clear();
  for (const std::int32_t rank : source_.world_ranks())
    ranks_.push_back(std::make_unique<RankGather>(source_, rank));
  tasks_.clear();
  tasks_.resize(task_count);
  for (Task& task : tasks_)
    task.ranks.resize(static_cast<std::size_t>(std::max(source_.world_size(), 0)));
}

void Gather::add_message(std::size_t task, const analysis::MessageEnd& send,
                         const analysis::MessageEnd& receive) {
  std::vector<Messages>& ranks = tasks_[task].ranks;
  const auto receiver = static_cast<std::size_t>(receive.world_rank);
  const auto sender = static_cast<std::size_t>(send.world_rank);
  if (receiver >= ranks.size() || sender >= ranks.size()) return;
  if (send.bytes <= kEagerBytes) {
    UnexpectedQueue& queue = ranks[receiver].queue;
    ++queue.message_count;
    if (receive.start_ns > send.start_ns) {
      const std::uint64_t held_ns = receive.start_ns - send.start_ns;
      ++queue.unexpected_count;
      queue.held_ns += held_ns;
      queue.held_byte_ns += static_cast<double>(held_ns) * static_cast<double>(send.bytes);
      queue.comm = receive.comm;
    }
  }
  if (send.start_ns > receive.enter_ns && receive.wait_point != analysis::kNoWaitPoint) {
    ++ranks[receiver].late_sends.count;
    ranks[receiver].late_sends.time_ns += time_between(send.start_ns, receive.leave_ns);
  } else if (receive.start_ns > send.enter_ns && send.wait_point != analysis::kNoWaitPoint &&
             send.leave_ns >= receive.start_ns) {
    ++ranks[sender].late_receives.count;
    ranks[sender].late_receives.time_ns += time_between(receive.start_ns, send.leave_ns);
  }
}

void Gather::add_collective(std::size_t task, const analysis::Collective& collective) {
  if (!collective.is_whole || collective.members.size() < 2) return;
  const analysis::CollectiveEnd& first = collective.members.front();
  if (first.block_bytes == analysis::CollectiveShape::kNotCompared ||
      first.block_bytes >
          kTinyCollectiveBytes * static_cast<std::uint64_t>(std::max(first.block_count, 1))) {
    return;
  }
  std::uint64_t shortest_ns = ~std::uint64_t{0};
  for (const analysis::CollectiveEnd& end : collective.members)
    shortest_ns = std::min(shortest_ns, end.leave_ns - end.enter_ns);
  Task& own = tasks_[task];
  const std::pair key(collective.comm, collective.function);
  if (own.last.second == nullptr || own.last.first != key) own.last = {key, &own.tiny_wires[key]};
  ++own.last.second->count;
  own.last.second->member_ns += shortest_ns * collective.members.size();
}

void Gather::add_rows(RankFacts& rank, std::size_t process_index, Facts& facts,
                      std::map<std::string, std::uint32_t>& site_index) {
  const ProcessDefinitions& process = source_.process(rank.world_rank);
  RankGather::Result result = ranks_[process_index]->take();
  const auto comm_of = [&](CommId comm) {
    return comm == kNoComm ? kNoIndex : tables_.comms.of(rank.world_rank, comm);
  };
  for (Row& row : result.rows) {
    row.function = row.pattern == Pattern::kMessageCalls
                       ? kNoIndex
                       : tables_.functions.of(process_index, static_cast<RegionId>(row.function));
    row.comm = comm_of(row.comm);
    if (row.site < process.call_sites.size()) {
      const auto [found, is_new] = site_index.try_emplace(
          place_of(process.call_sites[row.site]), static_cast<std::uint32_t>(facts.sites.size()));
      if (is_new) facts.sites.push_back(found->first);
      row.site = found->second;
    } else {
      row.site = kNoIndex;
    }
  }
  rank.rows = std::move(result.rows);
  for (auto* relays : {&result.receive_then_send, &result.send_then_receive}) {
    for (Relay& relay : *relays) relay.comm = comm_of(relay.comm);
  }
  rank.receive_then_send = std::move(result.receive_then_send);
  rank.send_then_receive = std::move(result.send_then_receive);
  for (CommId comm = 0; comm < result.all_to_all.size(); ++comm) {
    const std::uint32_t index = comm_of(comm);
    if (result.all_to_all[comm].count != 0 && index != kNoIndex)
      rank.all_to_all[index] = result.all_to_all[comm];
  }
}

void Gather::add_messages(RankFacts& rank) const {
  const auto at = static_cast<std::size_t>(rank.world_rank);
  for (const Task& task : tasks_) {
    if (at >= task.ranks.size()) continue;
    const Messages& part = task.ranks[at];
    rank.queue.message_count += part.queue.message_count;
    rank.queue.unexpected_count += part.queue.unexpected_count;
    rank.queue.held_ns += part.queue.held_ns;
    rank.queue.held_byte_ns += part.queue.held_byte_ns;
    if (part.queue.comm != kNoIndex) rank.queue.comm = part.queue.comm;
    rank.late_sends.count += part.late_sends.count;
    rank.late_sends.time_ns += part.late_sends.time_ns;
    rank.late_receives.count += part.late_receives.count;
    rank.late_receives.time_ns += part.late_receives.time_ns;
  }
}

/// A rank with several waiting threads counts as several waiters.
void Gather::add_waits(const analysis::WaitAnalysis& waits, Facts& facts) const {
  for (analysis::Track track = 0; track < waits.waited_for.size(); ++track) {
    const analysis::WaitedFor& from = waits.waited_for[track];
    RankFacts& rank = facts.ranks[tables_.owner(track).process_index];
    rank.waited_for_at_all.waiter_count += from.waiter_count;
    for (std::size_t kind = 0; kind < analysis::kWaitKindCount; ++kind) {
      WaitedFor&
          sum = rank.waited_for[static_cast<std::size_t>(waiting_of(static_cast<WaitKind>(kind)))];
      sum.count += from.by_kind[kind].count;
      sum.wait_ns += from.by_kind[kind].wait_ns;
      sum.waiter_count = std::max(sum.waiter_count, from.waiter_counts[kind]);
      rank.waited_for_at_all.count += from.by_kind[kind].count;
      rank.waited_for_at_all.wait_ns += from.by_kind[kind].wait_ns;
    }
  }
}

Facts Gather::take(const analysis::WaitAnalysis& waits,
                   const std::function<std::string(CommTable::Index)>& comm_name) {
  Facts facts;
  facts.wall_ns = waits.wall_ns;
  for (std::uint32_t i = 0; i < tables_.functions.size(); ++i)
    facts.functions.emplace_back(tables_.functions.function(i).name);
  for (CommTable::Index comm = 0; comm < tables_.comms.size(); ++comm) {
    facts.comms.push_back(
        {comm_name(comm), static_cast<std::int32_t>(tables_.comms.members(comm).size())});
  }
  std::map<std::string, std::uint32_t> site_index;
  const std::vector<std::int32_t>& world_ranks = source_.world_ranks();
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    RankFacts& rank = facts.ranks.emplace_back();
    rank.world_rank = world_ranks[i];
    rank.host = source_.process(world_ranks[i]).info.host;
    add_rows(rank, i, facts, site_index);
    add_messages(rank);
  }
  for (const analysis::RankWaits& rank : waits.ranks) {
    const auto found = std::ranges::lower_bound(facts.ranks, rank.world_rank, {},
                                                &RankFacts::world_rank);
    if (found == facts.ranks.end() || found->world_rank != rank.world_rank) continue;
    found->wall_ns = rank.wall_ns;
    found->mpi_ns = rank.mpi_ns;
  }
  for (const Task& task : tasks_) {
    for (const auto& [key, wire] : task.tiny_wires) {
      facts.tiny_wires[key].count += wire.count;
      facts.tiny_wires[key].member_ns += wire.member_ns;
    }
  }
  add_waits(waits, facts);
  ranks_.clear();
  tasks_.clear();
  return facts;
}

}  // namespace megascope::advice
