#include "analysis/advice/rank_gather.h"

#include "analysis/common/collective_shape.h"
#include "core/record/collective_op.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace megascope::advice {
namespace {

/// Polls that follow each other sooner than this have no work in between.
constexpr std::uint64_t kPollGap_ns = 1000;
/// Calls that follow each other sooner have no work in between worth the name.
constexpr std::uint64_t kDirectGap_ns = 20'000;

/// Returns whether several small operations of this kind can be combined to one. Excludes
/// broadcasts, which have a rule of their own.
bool may_be_tiny(CollectiveOp op) { return counts_all_members(op) || op == CollectiveOp::kReduce; }

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
    regions_[region.id] = {
        .op = function.mpi.is_neighbourhood ? CollectiveOp::kNone : function.op,
        .is_poll = function.mpi.use == analysis::FunctionTable::Use::kPoll,
        .is_boundary = function.mpi.reads_time || function.mpi.starts_mpi || function.mpi.ends_mpi,
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
  const auto site = events::find<events::CallSite>(call.facts);
  return site ? site->site() : kNoIndex;
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

/// Returns the time of each of the call's receives.
std::uint64_t RankGather::time_of_receive(const Event& event, const Call& call) {
  std::uint64_t completions = 0;
  bool has_sent = false;
  for (const Fact& fact : call.facts) {
    completions += events::is_any<events::Receive>(fact) ? 1 : 0;
    const auto send = events::as<events::Send>(fact);
    has_sent = has_sent || (send && send->is_blocking());
  }
  if (has_sent) return 0;  // the time of a call that does both, as MPI_Sendrecv, is the send's
  return completions > 1 ? event.time_ns() / completions : event.time_ns();
}

void RankGather::add_facts(Event& event, const Call& call) {
  const std::uint64_t each_ns = time_of_receive(event, call);
  const auto note_other = [&event](auto) { event.group = Group::kOther; };
  const events::Handler handler{
      [&](events::Send send) {
        add_sent(event, send);
        note_message(event, send, send.is_blocking(), send.is_blocking());
      },
      [&](events::Receive receive) {
        add_received(event, receive, each_ns);
        note_message(event, receive, receive.is_blocking() && receive.request() == kNoRequest,
                     false);
      },
      [&](events::PostedReceive receive) { note_message(event, receive, false, false); },
      [&](events::Completion completion) {
        using Way = events::Completion::Way;
        if (completion.way() == Way::kSent) note_request(event);
        if (completion.way() == Way::kOneSided) note_other(completion);
      },
      [&](events::Collective collective) { note_collective(event, call, collective); },
      [&](events::FileTransfer transfer) {
        if (transfer.is_start() || transfer.has_ended()) add_file(event, transfer);
        note_other(transfer);
      },
      events::on<events::RmaOperation, events::RmaSync, events::WindowUse, events::FileUse,
                 events::FileCollective>(note_other),
      events::Ignores<events::MatchedProbe, events::FoundMessage, events::RequestUse,
                      events::CollectiveCompletion, events::CommChange, events::Error,
                      events::LocalBytes, events::CallSite, events::Value, events::Left>()};
  for (const Fact& fact : call.facts) events::visit(fact, handler);
  if (event.message_count == 0 || event.comm >= comms_.size()) return;
  ++comms_[event.comm].call_count;
  comms_[event.comm].call_time_ns += event.time_ns();
}

void RankGather::note_message(Event& event, events::Message message, bool is_blocking,
                              bool is_send) {
  if (event.group == Group::kNone) event.group = Group::kMessage;
  if (event.message_count++ != 0) return;
  event.comm = message.comm();
  event.is_blocking = is_blocking;
  event.is_send = is_send;
  event.peer = message.peer();
  event.bytes = message.bytes();
}

/// Notes a message of which only the request is known.
void RankGather::note_request(Event& event) {
  if (event.group == Group::kNone) event.group = Group::kMessage;
  if (event.message_count++ != 0) return;
  event.comm = kNoComm;
  event.is_blocking = event.is_send = false;
  event.peer = kNoPeer;
  event.bytes = 0;
}

void RankGather::add_to_run(Run& run, Pattern pattern, const Event& event, events::Message message,
                            std::uint64_t time_ns) {
  if (message.bytes() > kSmallMessageBytes) {
    run = {};
    return;
  }
  if (++run.length == 1) return;  // before the first one ranks may have waited for something else
  run.time_ns += time_ns;
  if (run.length < kSmallMessageRun) return;
  Row& small = row(pattern, event.region, message.comm(), event.site);
  const std::uint64_t count = run.length == kSmallMessageRun ? kSmallMessageRun : 1;
  small.count += count;
  small.bytes += count * message.bytes();
  small.time_ns += std::exchange(run.time_ns, 0);
}

void RankGather::add_sent(const Event& event, events::Send send) {
  if (send.comm() >= comms_.size() || send.peer() < 0) return;
  Peer* peer = peer_of(send.comm(), send.peer());
  if (peer == nullptr) return;
  peer->received = {};
  add_to_run(peer->sent, Pattern::kSmallSends, event, send, event.time_ns());
  CommState& comm = comms_[send.comm()];
  if (comm.size < kMinAllToAllSize || send.peer() == comm.my_rank) return;
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

void RankGather::add_received(const Event& event, events::Receive receive, std::uint64_t time_ns) {
  if (receive.comm() >= comms_.size() || receive.peer() < 0) return;
  Peer* peer = peer_of(receive.comm(), receive.peer());
  if (peer == nullptr) return;
  peer->sent = {};
  add_to_run(peer->received, Pattern::kSmallReceives, event, receive, time_ns);
}

void RankGather::note_collective(Event& event, const Call& call, events::Collective collective) {
  if (collective.comm() >= comms_.size()) return;
  const Region& region = regions_[call.region];
  const CommState& comm = comms_[collective.comm()];
  ++epoch_;
  event.group = region.op == CollectiveOp::kCreateHandle ||
                        region.op == CollectiveOp::kDestroyHandle
                    ? Group::kOther
                    : Group::kCollective;
  event.op = region.op;
  event.comm = collective.comm();
  event.peer = collective.root();
  event.is_root = collective.root() >= 0 && collective.root() == comm.my_rank;
  event.is_blocking = collective.is_blocking();
  const std::uint64_t reported_bytes = event.is_root && region.op == CollectiveOp::kBcast
                                           ? collective.bytes_sent()
                                           : std::max(collective.bytes_sent(),
                                                      collective.bytes_received());
  const bool counts_all = counts_all_members(region.op) ||
                          (event.is_root && region.op != CollectiveOp::kNone);
  event.bytes = counts_all && comm.size > 1 ? reported_bytes / static_cast<std::uint64_t>(comm.size)
                                            : reported_bytes;
  event.is_tiny = event.is_blocking && may_be_tiny(region.op) && comm.size > 1 &&
                  event.bytes <= kTinyCollectiveBytes;
}

void RankGather::add_file(const Event& event, events::FileTransfer transfer) {
  if (transfer.access().is_collective) return;
  Row& transfers = row(Pattern::kFileTransfer, event.region, transfer.comm(), event.site);
  transfers.time_ns += event.time_ns();
  if (!transfer.has_ended()) return;
  ++transfers.count;
  transfers.bytes += transfer.transferred();
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
