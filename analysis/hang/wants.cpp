#include "analysis/hang/wants.h"

#include "core/record/event_view.h"
#include "core/record/world_ranks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace megascope::analysis {
namespace {

/// Above it MPI libraries wait for the receiver in standard sends: the greatest of Open MPI's eager
/// limits (btl/tcp).
constexpr std::uint64_t kMaxEagerBytes = 64U << 10;

MessageQuery query_of(const Want& want, std::int32_t world_rank) {
  if (want.kind == Want::Kind::kSend) return {want.comm, world_rank, want.partner, want.tag};
  return {want.comm, want.partner, world_rank, want.tag};
}

SendQuery send_query_of(const Want& want, std::int32_t world_rank) {
  return {world_rank, want.location, want.request, want.since_ns};
}

/// Collects what the threads of one process wait for.
class Collecting {
 public:
  Collecting(const Processes& processes, const ProcessState& state, const FunctionTable& functions,
             const CommTable& comms)
      : processes_(processes),
        state_(state),
        functions_(functions),
        comms_(comms),
        world_ranks_(*state.definitions) {
    for (const OpenOperation& operation : state.open) note_open(operation);
  }

  void collect(std::vector<Waiting>& result) {
    for (const ThreadState& thread : state_.threads) {
      if (!thread.has_called || thread.has_ended) continue;
      Waiting waiting{.world_rank = state_.world_rank, .location = thread.location, .wants = {}};
      const FunctionTable::Function& function = functions_.function(thread.region);
      if (thread.is_inside && function.mpi.use == FunctionTable::Use::kOther) {
        want_posted(thread, function, waiting);
      } else if (thread.is_inside || thread.poll_count != 0) {
        waiting.is_polling = function.mpi.use == FunctionTable::Use::kPoll;
        want_requests(thread, function, waiting);
        if (waiting.is_polling && waiting.wants.empty()) continue;
      } else {
        continue;
      }
      result.push_back(std::move(waiting));
    }
  }

 private:
  /// For a thread that waits for requests: the requests that it started itself; if there are none,
  /// all open requests of the process.
  void want_requests(const ThreadState& thread, const FunctionTable::Function& function,
                     Waiting& waiting) {
    for (const Fact& fact : thread.posted) {
      if (const auto use = events::as<events::RequestUse>(fact))
        waiting.asked = static_cast<std::uint32_t>(use->request_count());
    }
    const bool is_poll = thread.is_inside && function.mpi.use == FunctionTable::Use::kPoll;
    if (is_poll && !thread.posted.empty()) {
      const auto receive = events::as<events::Receive>(thread.posted.front());
      if (receive && receive->is_blocking()) want_message(*receive, thread, waiting);
    }
    for (const Want& want : open_) {
      if (want.location == thread.location) waiting.wants.push_back(want);
    }
    if (waiting.wants.empty()) waiting.wants = open_;
    const bool has_one = waiting.wants.size() == 1;
    waiting.needs_all = has_one ||
                        (function.mpi.completes_all && waiting.asked >= waiting.wants.size());
  }

  void want_posted(const ThreadState& thread, const FunctionTable::Function& function,
                   Waiting& waiting) {
    if (function.mpi.is_nonblocking || function.mpi.is_buffered) return;
    for_each_collective(*state_.definitions, thread.posted, [&](const CollectiveStep& step) {
      Want& want = waiting.wants.emplace_back(
          want_of(*step.fact, thread.region, thread.location, thread.enter_ns));
      set_collective(want, step.slot, step.sequence);
      want.request = kNoRequest;
    });
    want_one_sided(processes_, comms_, state_, thread, waiting);
    const bool is_remote = state_.definitions->comm(thread.comm) != nullptr &&
                           world_ranks_.is_remote(thread.comm);
    if (function.mpi.connects_worlds || (is_remote && waiting.wants.empty())) {
      waiting.wants.push_back({.kind = Want::Kind::kWorld,
                               .comm = comms_.of(state_.world_rank, thread.comm),
                               .region = thread.region,
                               .location = thread.location,
                               .since_ns = thread.enter_ns});
    }
    // The peers of other events are no partners of a message.
    const events::Handler handler{
        [&](events::Send send) {
          if (!send.is_blocking() || send.peer() < 0) return;
          // The send of a send and receive is most often not what it waits for.
          want_message(send, thread, waiting).may_have_left = thread.posted.size() > 1;
        },
        [&](events::Receive receive) {
          const bool is_probed = receive.request() != kNoRequest;  // its message has arrived
          if (receive.is_blocking() && !is_probed &&
              (receive.peer() >= 0 || receive.peer() == kAnySource))
            want_message(receive, thread, waiting);
        },
        events::Ignores<events::PostedReceive, events::MatchedProbe, events::FoundMessage,
                        events::Completion, events::RequestUse, events::Collective,
                        events::CollectiveCompletion, events::CommChange, events::RmaOperation,
                        events::RmaSync, events::WindowUse, events::FileTransfer, events::FileUse,
                        events::FileCollective, events::Error, events::LocalBytes, events::CallSite,
                        events::Value, events::Left>()};
    for (const Fact& fact : thread.posted) events::visit(fact, handler);
  }

  /// Adds the message of the blocking call that the thread is in.
  Want& want_message(events::Message message, const ThreadState& thread, Waiting& waiting) {
    Want& want = waiting.wants.emplace_back(
        want_of(message.fact(), thread.region, thread.location, thread.enter_ns));
    want.position = alike_before(want);
    return want;
  }

  /// Returns what completes the operation that the event starts.
  Want want_of(const Fact& fact, RegionId region, LocationId location,
               std::uint64_t since_ns) const {
    Want want{.region = region, .location = location, .since_ns = since_ns};
    const auto set_message = [&](events::Message message) {
      set_comm(want, message.comm(), message.peer());
      want.tag = message.tag();
      want.bytes = message.bytes();
      want.request = message.request();
    };
    const auto set_transfer = [&](auto transfer) {
      want.kind = Want::Kind::kTransfer;
      set_comm(want, transfer.comm(), kNoPeer);
    };
    events::visit(
        fact,
        events::Handler{
            [&](events::Send send) {
              const MpiFunction& function = functions_.function(region).mpi;
              want.kind = Want::Kind::kSend;
              want.may_have_left = function.is_buffered ||
                                   (!function.is_synchronous && !send.is_blocking() &&
                                    send.bytes() <= kMaxEagerBytes);
              set_message(send);
            },
            events::on<events::PostedReceive, events::Receive, events::MatchedProbe,
                       events::FoundMessage>(set_message),
            [&](events::Collective collective) {
              want.kind = Want::Kind::kCollective;
              want.bytes = collective.bytes_sent();
              want.sequence = collective.sequence();
              want.request = collective.request();
              set_comm(want, collective.comm(), collective.root());
            },
            events::on<events::RmaOperation, events::FileTransfer>([&](auto transfer) {
              set_transfer(transfer);
              want.request = transfer.request();
            }),
            events::on<events::RmaSync, events::WindowUse, events::FileUse, events::FileCollective>(
                set_transfer),
            events::Ignores<events::Completion, events::RequestUse, events::CollectiveCompletion,
                            events::CommChange, events::Error, events::LocalBytes, events::CallSite,
                            events::Value, events::Left>()});
    return want;
  }

  void set_comm(Want& want, CommId comm, std::int32_t peer) const {
    want.comm = comms_.of(state_.world_rank, comm);
    want.peer = peer;
    want.partner = peer == kAnySource ? kAnySource : world_ranks_.of(comm, peer);
  }

  void set_collective(Want& want, Slot slot, std::uint32_t sequence) const {
    want.kind = Want::Kind::kCollective;
    want.comm = comms_.of(state_.world_rank, slot);
    want.sequence = sequence;
    want.bytes = 0;
  }

  void note_open(const OpenOperation& operation) {
    Want want = want_of(operation.posted, operation.region, operation.location, operation.since_ns);
    if (operation.slot != kNoSlot) set_collective(want, operation.slot, operation.sequence);
    want.position = alike_before(want);
    if (want.kind == Want::Kind::kReceive) ++alike_[pattern(want)];
    open_.push_back(want);
  }

  using Pattern = std::tuple<CommTable::Index, std::int32_t, std::int32_t>;
  static Pattern pattern(const Want& want) { return {want.comm, want.partner, want.tag}; }
  std::uint32_t alike_before(const Want& want) const {
    const auto found = alike_.find(pattern(want));
    return want.kind == Want::Kind::kReceive && found != alike_.end() ? found->second : 0;
  }

  const Processes& processes_;
  const ProcessState& state_;
  const FunctionTable& functions_;
  const CommTable& comms_;
  WorldRanks world_ranks_;
  std::vector<Want> open_;
  std::map<Pattern, std::uint32_t> alike_;
};

/// Number of open or blocking receives of a process that accept a message.
std::uint64_t posted_receives(const ProcessState& state, const CommTable& comms,
                              const MessageQuery& message) {
  const WorldRanks world_ranks(*state.definitions);
  std::uint64_t count = 0;
  const auto look_at = [&](const Fact& fact) {
    if (!events::is_any<events::PostedReceive, events::Receive>(fact)) return;
    const events::Message receive(fact);
    const bool fits = comms.of(state.world_rank, receive.comm()) == message.comm &&
                      (receive.tag() == kAnyTag || receive.tag() == message.tag) &&
                      (receive.peer() == kAnySource ||
                       world_ranks.of(receive.comm(), receive.peer()) == message.source);
    count += fits ? 1 : 0;
  };
  for (const OpenOperation& operation : state.open) look_at(operation.posted);
  for (const ThreadState& thread : state.threads) {
    for (const Fact& fact : thread.posted) look_at(fact);
  }
  return count;
}

bool is_known(const ProcessState* state) { return state != nullptr && !state->may_be_ahead; }

void judge_send(const Processes& processes, const CommTable& comms, const MessageCounts& counts,
                std::int32_t world_rank, Want& want) {
  const ProcessState* receiver = processes.find(want.partner);
  want.is_known = is_known(receiver);
  if (!want.is_known) return;
  const MessageQuery query = query_of(want, world_rank);
  want.is_met = counts.taken(query) + posted_receives(*receiver, comms, query) >
                counts.sent_before(send_query_of(want, world_rank));
}

void judge_receive(const Processes& processes, const CommTable& comms, const MessageCounts& counts,
                   std::int32_t world_rank, Want& want) {
  const MessageQuery query = query_of(want, world_rank);
  const std::uint64_t taken = counts.taken(query);
  want.is_met = counts.sent(query) > taken + want.position;
  if (want.is_met) return;
  if (want.partner != kAnySource) {
    want.is_known = is_known(processes.find(want.partner));
    return;
  }
  want.is_known = std::ranges::all_of(
      comms.partners(world_rank, want.comm),
      [&](std::int32_t rank) { return is_known(processes.find(rank)); });
}

}  // namespace

const ProcessState* Processes::find(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(states, world_rank, {}, &ProcessState::world_rank);
  return found != states.end() && found->world_rank == world_rank ? &*found : nullptr;
}

const FunctionTable::Function& Processes::function(std::int32_t world_rank, RegionId region) const {
  const auto found = std::ranges::lower_bound(states, world_rank, {}, &ProcessState::world_rank);
  return functions[static_cast<std::size_t>(found - states.begin())].function(region);
}

std::vector<Waiting> collect_waiting(const Processes& processes, const CommTable& comms,
                                     MessageCounts& counts) {
  std::vector<Waiting> all;
  for (std::size_t i = 0; i < processes.states.size(); ++i) {
    const ProcessState& state = processes.states[i];
    if (state.has_finalized) continue;
    Collecting(processes, state, processes.functions[i], comms).collect(all);
  }
  for (const Waiting& waiting : all) {
    for (const Want& want : waiting.wants) {
      if (!is_message(want) || want.comm == CommTable::kNone || want.partner == kNoPeer) continue;
      const MessageQuery query = query_of(want, waiting.world_rank);
      if (want.kind == Want::Kind::kSend)
        counts.ask(send_query_of(want, waiting.world_rank), query);
      else
        counts.ask(query);
    }
  }
  return all;
}

void judge_messages(const Processes& processes, const CommTable& comms, const MessageCounts& counts,
                    std::vector<Waiting>& waiting) {
  for (Waiting& thread : waiting) {
    for (Want& want : thread.wants) {
      if (!is_message(want)) continue;
      if (want.comm == CommTable::kNone || want.partner == kNoPeer)
        want.is_known = false;
      else if (want.kind == Want::Kind::kSend)
        judge_send(processes, comms, counts, thread.world_rank, want);
      else
        judge_receive(processes, comms, counts, thread.world_rank, want);
    }
  }
}

}  // namespace megascope::analysis
