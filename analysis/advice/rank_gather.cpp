#include "analysis/advice/rank_gather.h"

#include "analysis/advice/collective_kinds.h"
#include "analysis/common/collective_shape.h"
#include "core/record/file_fact.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace megascope::advice {
namespace {

/// Polls that follow each other sooner than this have no work in between.
constexpr std::uint64_t kPollGap_ns = 1000;
/// Calls that follow each other sooner have no work in between worth the name.
constexpr std::uint64_t kDirectGap_ns = 20'000;

bool is_boundary(std::string_view name) {
  static constexpr std::string_view kNames[] = {"MPI_Wtime", "MPI_Init", "MPI_Init_thread",
                                                "MPI_Finalize"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

RankGather::RankGather(const RecordSource& source, std::int32_t world_rank)
    : definitions_(source.process(world_rank)),
      world_ranks_(definitions_),
      threads_(definitions_.locations.size()),
      has_sites_(!definitions_.call_sites.empty()) {
  const analysis::FunctionTable functions(definitions_);
  for (const RegionDefinition& region : definitions_.regions) {
    if (region.id >= regions_.size()) regions_.resize(std::size_t{region.id} + 1);
    const analysis::FunctionTable::Function& function = functions.function(region.id);
    regions_[region.id] = {.op = function.is_neighbourhood ? CollectiveOp::kNone : function.op,
                           .is_poll = function.use == analysis::FunctionTable::Use::kPoll,
                           .is_boundary = is_boundary(region.name),
                           .is_variable = is_variable(function.op)};
  }
  for (const CommDefinition& comm : definitions_.comms) {
    const bool is_plain = comm.kind != CommKind::kInter && comm.kind != CommKind::kRemote;
    comms_.push_back({.size = is_plain ? static_cast<std::int32_t>(rank_count(comm.members)) : 0,
                      .my_rank = comm.my_rank});
  }
}

Row& RankGather::row(Pattern pattern, RegionId region, CommId comm, std::uint32_t site) {
  const std::uint64_t key = std::uint64_t{region} << 48 | std::uint64_t{comm & 0xFFFFF} << 28 |
                            std::uint64_t{site & 0xFFFFFF} << 4 |
                            static_cast<std::uint64_t>(pattern);
  const KnownRow& known = known_rows_[(key * 0x9E3779B97F4A7C15U) >> 60];
  if (known.key == key) return rows_[known.index];
  return row_slow_path(key, pattern, region, comm, site);
}

Row& RankGather::row_slow_path(std::uint64_t key, Pattern pattern, RegionId region, CommId comm,
                               std::uint32_t site) {
  if (rows_.size() >= kMaxRows && site != kNoIndex && !row_index_.contains(key))
    return row(pattern, region, comm, kNoIndex);
  const auto [found, is_new] = row_index_.try_emplace(key,
                                                      static_cast<std::uint32_t>(rows_.size()));
  if (is_new) rows_.push_back({.pattern = pattern, .function = region, .comm = comm, .site = site});
  known_rows_[(key * 0x9E3779B97F4A7C15U) >> 60] = {key, found->second};
  return rows_[found->second];
}

std::uint32_t RankGather::site_of(const Call& call) const {
  if (!has_sites_) return kNoIndex;
  for (const Fact& fact : call.facts) {
    if (fact.kind == FactKind::kCallSite) return fact.request - 1;
  }
  return kNoIndex;
}

/// Returns the state of a partner; nullptr if there are too many partners.
RankGather::Peer* RankGather::peer_of(CommId comm, std::int32_t peer) {
  KnownPeer& known = known_peers_[(static_cast<std::uint32_t>(peer) + comm * 7) % kKnownCount];
  if (known.peer != peer || known.comm != comm) {
    const std::uint64_t key = std::uint64_t{comm} << 32 |
                              (static_cast<std::uint32_t>(peer) + std::uint64_t{1});
    if (peers_.size() >= kMaxPeers && peer_index_.get(key) == nullptr) return nullptr;
    std::uint32_t& index = peer_index_[key];
    if (index == 0) {
      peers_.emplace_back();
      index = static_cast<std::uint32_t>(peers_.size());
    }
    known = {comm, peer, index - 1};
  }
  Peer& found = peers_[known.index];
  if (found.epoch != epoch_) {
    found.sent = found.received = {};
    found.epoch = epoch_;
  }
  return &found;
}

void RankGather::add(LocationId location, const Call& call) {
  // count 0: a wait that the analysis inserted.
  if (call.depth != 0 || call.is_pending || call.region >= regions_.size() || call.count == 0)
    return;
  const Region& region = regions_[call.region];
  Thread& thread = threads_[location];
  if (region.is_poll) add_poll(thread, call);
  if (call.facts.empty()) {
    if (!region.is_boundary) return;
  }
  const Event& last = thread.events[thread.last_index];
  Event& event = thread.events[1 - thread.last_index];
  event = {.enter_ns = call.enter_ns,
           .leave_ns = call.leave_ns,
           .site = site_of(call),
           .region = call.region};
  add_facts(event, call);
  if (event.group == Group::kNone && region.is_boundary) event.group = Group::kOther;
  if (event.group == Group::kNone) return;
  end_call(thread, last, event);
  thread.last_index = 1 - thread.last_index;
}

/// Coalesced polls in one record found nothing. A single poll counts if it directly follows others.
void RankGather::add_poll(Thread& thread, const Call& call) {
  const std::uint64_t inside_ns = time_inside(call);
  const std::uint64_t span_ns = call.leave_ns - call.enter_ns;
  const bool is_run = call.count > 1;
  const std::uint64_t gap_ns = call.enter_ns - std::min(thread.poll_leave_ns, call.enter_ns);
  const bool follows = thread.poll_leave_ns != 0 &&
                       gap_ns <= std::max(kPollGap_ns, inside_ns / call.count);
  thread.poll_leave_ns = call.leave_ns;
  if (is_run ? 4 * inside_ns < span_ns : !follows) return;  // there is work in between
  Row& polls = row(Pattern::kPoll, call.region, call.comm, site_of(call));
  polls.count += call.count;
  polls.time_ns += span_ns + (follows ? gap_ns : 0);
}

void RankGather::add_facts(Event& event, const Call& call) {
  std::uint64_t completions = 0;
  bool has_sent = false;
  for (const Fact& fact : call.facts) {
    completions += fact.kind == FactKind::kRecvComplete || fact.kind == FactKind::kRecv ? 1 : 0;
    has_sent = has_sent || fact.kind == FactKind::kSend;
  }
  // The time of a call that does both, as MPI_Sendrecv, is the send's. Dividing is expensive.
  const std::uint64_t each_ns = has_sent          ? 0
                                : completions > 1 ? event.time_ns() / completions
                                                  : event.time_ns();
  for (const Fact& fact : call.facts) {
    switch (fact.kind) {
      case FactKind::kSend:
      case FactKind::kSendRequest:
        add_sent(event, fact);
        break;
      case FactKind::kRecv:
      case FactKind::kRecvComplete:
        add_received(event, fact, each_ns);
        break;
      case FactKind::kRecvRequest:
      case FactKind::kSendComplete:
        break;
      case FactKind::kCollective:
      case FactKind::kCollectiveRequest:
        note_collective(event, call, fact);
        continue;
      case FactKind::kFileRead:
      case FactKind::kFileWrite:
      case FactKind::kFileReadRequest:
      case FactKind::kFileWriteRequest:
      case FactKind::kFileReadComplete:
      case FactKind::kFileWriteComplete:
        add_file(event, fact);
        [[fallthrough]];
      default:
        if (is_file_fact(fact.kind) || is_rma(fact.kind) || fact.kind == FactKind::kFileCollective)
          event.group = Group::kOther;
        continue;
    }
    const bool is_blocking = fact.kind == FactKind::kSend ||
                             (fact.kind == FactKind::kRecv && fact.request == kNoRequest);
    if (event.group == Group::kNone) event.group = Group::kMessage;
    if (event.message_count++ == 0) {
      event.comm = fact.comm;
      event.is_blocking = is_blocking;
      event.is_send = fact.kind == FactKind::kSend;
      event.peer = fact.peer;
      event.bytes = fact.bytes;
    }
  }
  if (event.message_count == 0) return;
  if (event.comm >= comms_.size()) return;
  ++comms_[event.comm].call_count;
  comms_[event.comm].call_time_ns += event.time_ns();
}

void RankGather::add_to_run(Run& run, Pattern pattern, const Event& event, const Fact& fact,
                            std::uint64_t time_ns) {
  if (fact.bytes > kSmallMessageBytes) {
    run = {};
    return;
  }
  if (++run.length == 1) return;  // before the first one ranks may have waited for something else
  run.time_ns += time_ns;
  if (run.length < kSmallMessageRun) return;
  Row& small = row(pattern, event.region, fact.comm, event.site);
  const std::uint64_t count = run.length == kSmallMessageRun ? kSmallMessageRun : 1;
  small.count += count;
  small.bytes += count * fact.bytes;
  small.time_ns += std::exchange(run.time_ns, 0);
}

void RankGather::add_sent(const Event& event, const Fact& fact) {
  if (fact.comm >= comms_.size() || fact.peer < 0) return;
  Peer* peer = peer_of(fact.comm, fact.peer);
  if (peer == nullptr) return;
  peer->received = {};
  add_to_run(peer->sent, Pattern::kSmallSends, event, fact, event.time_ns());
  CommState& comm = comms_[fact.comm];
  if (comm.size < kMinAllToAllSize || fact.peer == comm.my_rank) return;
  ++comm.round_messages;
  ++comm.rounds.sent_count;
  if (peer->round != comm.round) {
    peer->round = comm.round;
    ++comm.distinct_count;
  }
  const auto others = static_cast<std::uint64_t>(comm.size - 1);
  const bool is_whole = static_cast<std::uint64_t>(comm.distinct_count) == others;
  if (!is_whole && comm.round_messages < 2 * others) return;
  if (is_whole) {
    ++comm.rounds.count;
    comm.rounds.message_count += comm.round_messages;
  }
  comm.distinct_count = 0;
  comm.round_messages = 0;
  ++comm.round;
}

void RankGather::add_received(const Event& event, const Fact& fact, std::uint64_t time_ns) {
  if (fact.comm >= comms_.size() || fact.peer < 0) return;
  Peer* peer = peer_of(fact.comm, fact.peer);
  if (peer == nullptr) return;
  peer->sent = {};
  add_to_run(peer->received, Pattern::kSmallReceives, event, fact, time_ns);
}

void RankGather::note_collective(Event& event, const Call& call, const Fact& fact) {
  if (fact.comm >= comms_.size()) return;
  const Region& region = regions_[call.region];
  const CommState& comm = comms_[fact.comm];
  ++epoch_;
  event.group = region.op == CollectiveOp::kCreateHandle ||
                        region.op == CollectiveOp::kDestroyHandle
                    ? Group::kOther
                    : Group::kCollective;
  event.op = region.op;
  event.comm = fact.comm;
  event.peer = fact.peer;
  event.is_root = fact.peer >= 0 && fact.peer == comm.my_rank;
  event.is_blocking = fact.kind == FactKind::kCollective;
  const std::uint64_t reported_bytes = event.is_root && region.op == CollectiveOp::kBcast
                                           ? fact.bytes
                                           : std::max(fact.bytes, fact.bytes_received);
  const bool counts_all = counts_all_members(region.op) ||
                          (event.is_root && region.op != CollectiveOp::kNone);
  event.bytes = counts_all && comm.size > 1 ? reported_bytes / static_cast<std::uint64_t>(comm.size)
                                            : reported_bytes;
  event.is_tiny = event.is_blocking && may_be_tiny(region.op) && comm.size > 1 &&
                  event.bytes <= kTinyCollectiveBytes;
}

void RankGather::add_file(const Event& event, const Fact& fact) {
  if (access_of(fact).is_collective) return;
  Row& transfers = row(Pattern::kFileTransfer, event.region, fact.comm, event.site);
  transfers.time_ns += event.time_ns();
  if (!ends_transfer(fact.kind)) return;
  ++transfers.count;
  transfers.bytes += transferred(fact);
}

/// Patterns of several calls.
void RankGather::end_call(Thread& thread, const Event& last, const Event& event) {
  if (thread.barrier.group != Group::kNone) {
    const Event barrier = std::exchange(thread.barrier, {});
    if (event.group == Group::kMessage || event.group == Group::kCollective) {
      Row& row_of_it = row(Pattern::kBarrier, barrier.region, barrier.comm, barrier.site);
      ++row_of_it.count;
      row_of_it.time_ns += barrier.time_ns();
    }
  }
  const bool is_bcast = event.group == Group::kCollective && event.op == CollectiveOp::kBcast &&
                        event.is_blocking;
  if (is_bcast)
    add_bcast(thread, last, event);
  else if (thread.bcasts.length != 0)
    end_bcasts(thread, last);
  if (event.group == Group::kCollective) add_collective(thread, last, event);
  const bool is_pair = event.group == Group::kMessage && last.group == Group::kMessage &&
                       event.is_blocking && last.is_blocking && event.message_count == 1 &&
                       last.message_count == 1 && event.is_send != last.is_send;
  if (is_pair && event.comm == last.comm && event.peer != last.peer && event.bytes == last.bytes)
    add_relay(last, event);
}

void RankGather::add_collective(Thread& thread, const Event& last, const Event& event) {
  if (event.op == CollectiveOp::kBarrier && event.is_blocking &&
      (last.group == Group::kMessage || last.group == Group::kCollective)) {
    thread.barrier = event;
  }
  if (!event.is_tiny) return;
  const bool follows = last.is_tiny && last.comm == event.comm &&
                       event.enter_ns <= last.leave_ns + kDirectGap_ns;
  for (const Pattern pattern : {Pattern::kTinyCollective, Pattern::kTinyFollower}) {
    if (pattern == Pattern::kTinyFollower && !follows) break;
    Row& tiny = row(pattern, event.region, event.comm, event.site);
    ++tiny.count;
    tiny.time_ns += event.time_ns();
    tiny.bytes += event.bytes;
  }
}

/// Adds a broadcast that follows a gather or reduction to its root, or another broadcast. A root
/// that works in between needs both calls.
void RankGather::add_bcast(Thread& thread, const Event& last, const Event& event) {
  const bool follows = last.group == Group::kCollective && last.is_blocking &&
                       last.comm == event.comm && last.peer == event.peer;
  const std::uint64_t gap_ns = event.enter_ns - std::min(last.leave_ns, event.enter_ns);
  const bool is_at_once = event.is_root && gap_ns <= last.time_ns() + event.time_ns();
  const bool is_gather = last.op == CollectiveOp::kGather || last.op == CollectiveOp::kGatherv;
  if (follows && (is_gather || last.op == CollectiveOp::kReduce)) {
    Row& pair = row(is_gather ? Pattern::kGatherBcast : Pattern::kReduceBcast, event.region,
                    event.comm, event.site);
    ++pair.count;
    pair.root_count += is_at_once ? 1 : 0;
    pair.time_ns += last.time_ns() + event.time_ns();
    pair.bytes += event.bytes;
    pair.bytes_before += last.bytes;
  }
  const bool goes_on = follows && last.op == CollectiveOp::kBcast;
  if (!goes_on || event.bytes > kSmallBcastBytes) end_bcasts(thread, last);
  if (event.bytes > kSmallBcastBytes) return;
  ++thread.bcasts.length;
  thread.bcasts.time_ns += event.time_ns();
  thread.bcast_bytes += event.bytes;
  thread.root_gaps += goes_on && event.is_root && !is_at_once ? 1 : 0;
}

/// Ends a series of broadcasts. The previous call was its last one, and gives its call site.
void RankGather::end_bcasts(Thread& thread, const Event& last) {
  const Run run = std::exchange(thread.bcasts, {});
  const std::uint64_t bytes = std::exchange(thread.bcast_bytes, 0);
  const std::uint32_t gaps = std::exchange(thread.root_gaps, 0);
  if (run.length < kMinBcastRun) return;
  Row& bcasts = row(Pattern::kBcastRun, last.region, last.comm, last.site);
  bcasts.count += run.length;
  bcasts.root_count += last.is_root ? run.length - gaps : 0;
  bcasts.time_ns += run.time_ns;
  bcasts.bytes += bytes;
}

void RankGather::add_relay(const Event& first, const Event& second) {
  if (second.enter_ns - std::min(first.leave_ns, second.enter_ns) >
      std::max(kDirectGap_ns, first.time_ns() / 2))
    return;  // works in between
  std::vector<Relay>& relays = first.is_send ? send_then_receive_ : receive_then_send_;
  const std::int32_t from = world_ranks_.of(first.comm, first.is_send ? second.peer : first.peer);
  const std::int32_t to = world_ranks_.of(first.comm, first.is_send ? first.peer : second.peer);
  auto relay = std::ranges::find_if(relays, [&](const Relay& known) {
    return known.comm == first.comm && known.from == from && known.to == to;
  });
  if (relay == relays.end()) {
    if (relays.size() == kMaxRelays) return;
    relay = relays.insert(relays.end(), {.comm = first.comm, .from = from, .to = to});
  }
  ++relay->count;
  relay->time_ns += first.time_ns();
}

RankGather::Result RankGather::take() {
  for (Thread& thread : threads_) end_bcasts(thread, thread.events[thread.last_index]);
  for (CommId comm = 0; comm < comms_.size(); ++comm) {
    if (comms_[comm].call_count == 0) continue;
    rows_.push_back({.pattern = Pattern::kMessageCalls,
                     .function = kNoRegion,
                     .comm = comm,
                     .count = comms_[comm].call_count,
                     .time_ns = comms_[comm].call_time_ns});
  }
  Result result{std::move(rows_), std::move(receive_then_send_), std::move(send_then_receive_), {}};
  for (const CommState& comm : comms_) result.all_to_all.push_back(comm.rounds);
  return result;
}

}  // namespace megascope::advice
