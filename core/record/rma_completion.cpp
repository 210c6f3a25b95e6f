#include "core/record/rma_completion.h"

#include <algorithm>
#include <limits>

namespace megascope {
namespace {

constexpr std::int32_t kLowestTarget = std::numeric_limits<std::int32_t>::min();

/// Returns whether the operation is complete at the target when its data arrives at the origin. Not
/// true for MPI_Rget_accumulate, whose result may arrive before the target is updated (MPI-4.1
/// §12.3.5).
bool is_complete_with_its_data(FactKind kind) {
  return kind == FactKind::kGet || kind == FactKind::kRget || kind == FactKind::kGetAccumulate ||
         kind == FactKind::kCompareAndSwap;
}

}  // namespace

std::span<const RmaCompletion::Done> RmaCompletion::add(const Fact& fact) {
  done_.clear();
  if (is_rma_operation(fact.kind)) {
    issue(fact);
    return done_;
  }
  Reach reach = Reach::kTarget;
  switch (fact.kind) {
    case FactKind::kRmaComplete:
    case FactKind::kRequestFreed:
      complete_request(fact.request);
      return done_;
    case FactKind::kFence:
    case FactKind::kUnlock:
      break;
    case FactKind::kFlush:
      if (fact.bytes != 0) reach = Reach::kOrigin;
      break;
    case FactKind::kGroupSync:
      if ((fact.bytes & rma::kGroupSyncMask) != rma::kComplete) return done_;
      reach = Reach::kOriginForGood;  // remote completion is reported by the targets' MPI_Win_wait
      break;
    case FactKind::kWinFreed:
      break;
    default:
      return done_;
  }
  if (fact.peer == kNoPeer) {
    complete_window(window_of(fact), reach);
    return done_;
  }
  const auto found = open_.find({window_of(fact), fact.peer});
  if (found != open_.end()) complete_target(window_of(fact), found->second, reach);
  return done_;
}

void RmaCompletion::issue(const Fact& fact) {
  const Target target{window_of(fact), fact.peer};
  open_[target].issued.push_back(
      {.id = fact.request, .is_get = is_complete_with_its_data(fact.kind)});
  if (has_rma_request(fact.kind)) requests_[fact.request] = target;
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
