#include "analysis/hang/process_state.h"

#include "core/record/merged_calls.h"
#include "core/record/request_map.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// Causes of loss that mean that calls are missing.
constexpr LossCause kMissingCalls[] = {LossCause::kBufferFull, LossCause::kStorage,
                                       LossCause::kNoBuffer, LossCause::kForeign,
                                       LossCause::kDamaged};

class Reading {
 public:
  Reading(const RecordSource& source, std::int32_t world_rank, const FunctionTable& functions)
      : source_(source), functions_(functions) {
    state_.world_rank = world_rank;
    state_.definitions = &source.process(world_rank);
    const ProcessDefinitions& definitions = *state_.definitions;
    for (const LocationDefinition& location : definitions.locations) {
      ThreadState& thread = state_.threads.emplace_back();
      thread.location = location.id;
      thread.has_ended = location.has_ended;
    }
    state_.progress.resize(slot_count(definitions));
    const bool lacks_calls = std::ranges::any_of(kMissingCalls, [&](LossCause cause) {
      return definitions.losses[static_cast<std::size_t>(cause)] != 0;
    });
    const bool lacks_beginning = std::ranges::any_of(definitions.locations,
                                                     &LocationDefinition::lacks_beginning);
    state_.has_losses = lacks_calls || lacks_beginning || definitions.info.has_message_gaps;
    state_.may_be_ahead = (lacks_calls && !lacks_beginning) || definitions.info.has_message_gaps;
  }

  ProcessState run() {
    MergedCalls calls(source_, state_.world_rank);
    LocationId location = 0;
    while (const Call* call = calls.next(location)) add(*call, location);
    erase_completed();
    state_.open = std::move(open_);
    state_.has_finalized = state_.definitions->info.end_state == EndState::kFinalized ||
                           std::ranges::any_of(state_.threads, [&](const ThreadState& thread) {
                             return thread.has_called &&
                                    functions_.function(thread.region).mpi.ends_mpi;
                           });
    return std::move(state_);
  }

 private:
  void add(const Call& call, LocationId location) {
    bool has_completed = false;
    const auto start_it = [&](auto event) { start(event.fact(), event.request(), call, location); };
    const auto complete_it = [&](auto event) {
      has_completed = true;
      complete(event.request());
    };
    const events::Handler handler{
        [&](events::Send send) {
          if (!send.is_blocking()) start_it(send);
        },
        [&](events::PostedReceive receive) { start_it(receive); },
        [&](events::Receive receive) {
          if (!receive.is_blocking()) complete_it(receive);
        },
        [&](events::MatchedProbe) { has_completed = true; },
        [&](events::Collective collective) {
          if (!collective.is_blocking()) start_it(collective);
        },
        [&](events::RmaOperation operation) {
          if (operation.has_mpi_request()) start_it(operation);
        },
        [&](events::RmaSync sync) { note_one_sided(sync); },
        [&](events::FileTransfer transfer) {
          switch (transfer.stage()) {
            case events::FileTransfer::Stage::kStarted:
              return start_it(transfer);
            case events::FileTransfer::Stage::kCompleted:
            case events::FileTransfer::Stage::kCancelled:
              return complete_it(transfer);
            case events::FileTransfer::Stage::kBlocking:
            case events::FileTransfer::Stage::kTested:
              return;
          }
        },
        events::on<events::Completion, events::CollectiveCompletion>(complete_it),
        events::Ignores<events::FoundMessage, events::RequestUse, events::CommChange,
                        events::WindowUse, events::FileUse, events::FileCollective, events::Error,
                        events::LocalBytes, events::CallSite, events::Value, events::Left>()};
    for (const Fact& fact : call.facts) events::visit(fact, handler);
    for (const std::span<const Fact> facts : {call.facts, call.posted}) {
      for_each_collective(*state_.definitions, facts,
                          [&](const CollectiveStep& step) { advance(call.region, step); });
    }
    if (call.depth == 0 && location < state_.threads.size())
      remember(call, state_.threads[location], has_completed);
  }

  void remember(const Call& call, ThreadState& thread, bool has_completed) {
    const bool polls = functions_.function(call.region).mpi.use == FunctionTable::Use::kPoll &&
                       !has_completed;
    if (!polls)
      thread.poll_count = 0;
    else if (thread.poll_count == 0)
      thread.poll_since_ns = call.enter_ns;
    if (polls) thread.poll_count += call.count;
    thread.has_called = true;
    thread.is_inside = call.is_pending;
    thread.region = call.region;
    thread.comm = call.comm;
    thread.enter_ns = call.enter_ns;
    thread.leave_ns = call.leave_ns;
    if (call.is_pending) thread.posted.assign(call.posted.begin(), call.posted.end());
  }

  void start(const Fact& fact, RequestId request, const Call& call, LocationId location) {
    // A split collective is ended by its other half, not by a request.
    if (request == kNoRequest || functions_.function(call.region).name.ends_with("_begin")) return;
    complete(request);  // an earlier request with this id, whose completion was not recorded
    if (open_.size() > 2 * open_count_ + 64) compact();
    open_.push_back({.posted = fact,
                     .request = request,
                     .region = call.region,
                     .location = location,
                     .since_ns = call.enter_ns});
    for_each_collective(*state_.definitions, call.facts, [&](const CollectiveStep& step) {
      open_.back().slot = step.slot;
      open_.back().sequence = step.sequence;
    });
    index_[request] = open_.size();
    ++open_count_;
  }
  void complete(RequestId request) {
    std::size_t index = 0;
    if (request == kNoRequest || !index_.take(request, index)) return;
    open_[index - 1].request = kNoRequest;
    --open_count_;
  }
  /// Closes the gaps that completed operations left.
  void compact() {
    erase_completed();
    for (std::size_t i = 0; i < open_.size(); ++i) index_[open_[i].request] = i + 1;
    open_count_ = open_.size();
  }
  void erase_completed() {
    std::erase_if(open_,
                  [](const OpenOperation& operation) { return operation.request == kNoRequest; });
  }

  void advance(RegionId region, const CollectiveStep& step) {
    const CommDefinition* comm = comm_of_slot(*state_.definitions, step.slot);
    if (comm == nullptr) return;
    CommProgress& progress = state_.progress[step.slot];
    const FunctionTable::Function& function = functions_.function(region);
    if (progress.recent.empty()) {
      progress.first = step.sequence;
      progress.recent.resize(CommProgress::kRecentCount);
    } else if (step.sequence != progress.count) {
      progress.has_holes = true;
    }
    progress.sum += hash_of(function, shape_of(function, *comm, step.collective), step.sequence);
    if (step.sequence + 1 < progress.count) return;
    progress.count = step.sequence + 1;
    progress.last_region = region;
    progress.recent[step.sequence % CommProgress::kRecentCount] = progress.sum;
  }

  void note_one_sided(events::RmaSync sync) {
    using Sync = events::RmaSync::Sync;
    OneSidedState& state = state_.one_sided;
    const WinId window = sync.window();
    switch (sync.sync()) {
      case Sync::kGroup:
        ++state.group_syncs[{window, sync.group(), sync.group_function()}];
        return;
      case Sync::kLock:
        state.locks[{window, sync.target()}] = sync.is_exclusive();
        return;
      case Sync::kUnlock:
        state.locks.erase({window, sync.target()});
        return;
      case Sync::kFence:
      case Sync::kFlush:
      case Sync::kMemory:
        return;
    }
  }

  const RecordSource& source_;
  const FunctionTable& functions_;
  ProcessState state_;
  std::vector<OpenOperation> open_;  ///< in order of start; without a request: completed
  std::size_t open_count_ = 0;
  RequestMap<std::size_t> index_;  ///< of open operations, + 1
};

}  // namespace

bool CommProgress::sum_of_first(std::uint32_t number, std::uint64_t& result) const {
  if (first != 0 || has_holes || number > count) return false;
  if (number == 0) {
    result = 0;
    return true;
  }
  if (recent.empty() || count - number >= kRecentCount) return false;
  result = recent[(number - 1) % kRecentCount];
  return true;
}

ProcessState read_process(const RecordSource& source, std::int32_t world_rank,
                          const FunctionTable& functions) {
  return Reading(source, world_rank, functions).run();
}

}  // namespace megascope::analysis
