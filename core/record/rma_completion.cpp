#include "core/record/rma_completion.h"

#include <algorithm>
#include <limits>

namespace megascope {
namespace {

constexpr std::int32_t kLowestTarget = std::numeric_limits<std::int32_t>::min();

/// Returns whether the operation is complete at the target when its data arrives at the origin. Not
/// true for MPI_Rget_accumulate, whose result may arrive before the target is updated (MPI-4.1
/// §12.3.5).
bool is_complete_with_its_data(events::RmaOperation operation) {
  using Operation = events::RmaOperation::Operation;
  switch (operation.operation()) {
    case Operation::kGet:
    case Operation::kCompareAndSwap:
      return true;
    case Operation::kGetAccumulate:
      return !operation.has_mpi_request();
    case Operation::kPut:
    case Operation::kAccumulate:
      return false;
  }
  return false;
}

}  // namespace

std::span<const RmaCompletion::Done> RmaCompletion::add(const Fact& fact) {
  done_.clear();
  events::visit(fact,
                events::Handler{
                    [this](events::RmaOperation operation) { issue(operation); },
                    [this](events::RmaSync sync) { synchronize(sync); },
                    [this](events::WindowUse use) {
                      if (use.use() == events::WindowUse::Use::kFreed)
                        complete(use, Reach::kTarget);
                    },
                    [this](events::Completion completion) {
                      using Way = events::Completion::Way;
                      if (completion.way() == Way::kOneSided || completion.way() == Way::kFreed)
                        complete_request(completion.request());
                    },
                    events::Ignores<events::Send, events::PostedReceive, events::Receive,
                                    events::MatchedProbe, events::FoundMessage, events::RequestUse,
                                    events::Collective, events::CollectiveCompletion,
                                    events::CommChange, events::FileTransfer, events::FileUse,
                                    events::FileCollective, events::Error, events::LocalBytes,
                                    events::CallSite, events::Value, events::Left>()});
  return done_;
}

void RmaCompletion::synchronize(events::RmaSync sync) {
  using Sync = events::RmaSync::Sync;
  switch (sync.sync()) {
    case Sync::kFence:
    case Sync::kUnlock:
      return complete(sync, Reach::kTarget);
    case Sync::kFlush:
      return complete(sync, sync.is_local_only() ? Reach::kOrigin : Reach::kTarget);
    case Sync::kGroup:
      // Remote completion is reported by the targets' MPI_Win_wait.
      if (sync.group_function() == rma::kComplete) complete(sync, Reach::kOriginForGood);
      return;
    case Sync::kLock:
    case Sync::kMemory:
      return;
  }
}

/// Completes the operations on the event's target, or on its window if it has no target.
void RmaCompletion::complete(events::OneSided event, Reach reach) {
  if (event.target() == kNoPeer) return complete_window(event.window(), reach);
  const auto found = open_.find({event.window(), event.target()});
  if (found != open_.end()) complete_target(event.window(), found->second, reach);
}

void RmaCompletion::issue(events::RmaOperation operation) {
  const Target target{operation.window(), operation.target()};
  open_[target].issued.push_back(
      {.id = operation.request(), .is_get = is_complete_with_its_data(operation)});
  if (operation.has_mpi_request()) requests_[operation.request()] = target;
}

/// Finds an operation. Ids ascend as long as one thread issues operations; otherwise a linear
/// search follows.
RmaCompletion::Operation* RmaCompletion::find(Operations& operations, RequestId request) {
  auto at = std::ranges::lower_bound(operations.issued, request, {}, &Operation::id);
  if (at == operations.issued.end() || at->id != request) {
    at = std::ranges::find(operations.issued, request, &Operation::id);
  }
  return at == operations.issued.end() ? nullptr : &*at;
}

/// Removes completed operations when they are the majority.
void RmaCompletion::tidy(Operations& operations) {
  if (operations.over_count * 2 <= operations.issued.size()) return;
  std::erase_if(operations.issued, [](const Operation& operation) { return operation.is_over; });
  operations.over_count = 0;
}

void RmaCompletion::complete_request(RequestId request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  const WinId window = found->second.first;
  Operations& operations = open_[found->second];
  requests_.erase(found);
  Operation* operation = find(operations, request);
  if (operation == nullptr || operation->is_local) return;
  operation->is_local = true;
  operation->is_over = operation->is_get;
  operations.over_count += operation->is_over ? 1 : 0;
  done_.push_back(
      {.operation = request, .window = window, .is_local = true, .is_remote = operation->is_get});
  tidy(operations);
}

void RmaCompletion::complete_window(WinId window, Reach reach) {
  auto at = open_.lower_bound({window, kLowestTarget});
  for (; at != open_.end() && at->first.first == window; ++at)
    complete_target(window, at->second, reach);
}

void RmaCompletion::complete_target(WinId window, Operations& operations, Reach reach) {
  for (Operation& operation : operations.issued) {
    if (operation.is_over) continue;
    const Done done{.operation = operation.id,
                    .window = window,
                    .is_local = !operation.is_local,
                    .is_remote = reach == Reach::kTarget || operation.is_get};
    if (done.is_local || done.is_remote) done_.push_back(done);
    operation.is_local = true;
    operation.is_over = operation.is_get;
    operations.over_count += operation.is_over ? 1 : 0;
  }
  if (reach == Reach::kOrigin) return tidy(operations);
  operations.issued.clear();
  operations.over_count = 0;
}

std::size_t RmaCompletion::open_count() const {
  std::size_t count = 0;
  for (const auto& [target, operations] : open_)
    count += operations.issued.size() - operations.over_count;
  return count;
}

}  // namespace megascope
