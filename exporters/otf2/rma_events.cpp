#include "exporters/otf2/rma_events.h"

#include <algorithm>
#include <memory>

namespace megascope::otf2 {
namespace {

std::uint32_t remote_of(events::OneSided event) {
  return event.target() == kNoPeer ? OTF2_UNDEFINED_UINT32
                                   : static_cast<std::uint32_t>(event.target());
}

/// A fence with MPI_MODE_NOPRECEDE need not synchronize with others. MPI-4.1 §12.5.1
OTF2_RmaSyncLevel fence_level(events::RmaSync fence) {
  return fence.has(rma::kNoPrecede) ? OTF2_RMA_SYNC_LEVEL_NONE
                                    : OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
}

OTF2_RmaSyncLevel group_level(events::RmaSync sync) {
  const std::uint64_t what = sync.group_function();
  return what == rma::kComplete || what == rma::kWait ? OTF2_RMA_SYNC_LEVEL_MEMORY
                                                      : OTF2_RMA_SYNC_LEVEL_NONE;
}

}  // namespace

/// Position of one location while all calls of the process are read.
struct RmaProgress::Cursor {
  LocationId location = 0;
  std::unique_ptr<CallStream> calls;
  Call call;
  std::uint64_t index = 0;
};

RmaProgress::RmaProgress(const RecordSource& source, std::int32_t world_rank)
    : source_(source),
      world_rank_(world_rank),
      has_threads_(source.process(world_rank).locations.size() > 1) {}

std::span<const RmaProgress::Done> RmaProgress::complete(LocationId location,
                                                         std::uint64_t call_index,
                                                         std::span<const Fact> facts) {
  if (!has_threads_) {
    done_.clear();
    for (const Fact& fact : facts) {
      const std::span<const Done> done = completion_.add(fact);
      done_.insert(done_.end(), done.begin(), done.end());
    }
    return done_;
  }
  if (!has_read_) read_all();
  has_read_ = true;
  const auto found = by_call_[location].find(call_index);
  return found == by_call_[location].end() ? std::span<const Done>() : found->second;
}

void RmaProgress::read_all() {
  std::vector<Cursor> cursors;
  for (const LocationDefinition& location : source_.process(world_rank_).locations) {
    Cursor cursor{
        .location = location.id, .calls = source_.calls(world_rank_, location.id), .call = {}};
    if (cursor.calls->next(cursor.call)) cursors.push_back(std::move(cursor));
  }
  by_call_.resize(source_.process(world_rank_).locations.size());
  const auto returns_later = [](const Cursor& a, const Cursor& b) {
    return a.call.leave_ns > b.call.leave_ns;
  };
  std::ranges::make_heap(cursors, returns_later);
  while (!cursors.empty()) {
    std::ranges::pop_heap(cursors, returns_later);
    Cursor& next = cursors.back();
    note(next.location, next.index++, next.call.facts);
    if (next.calls->next(next.call))
      std::ranges::push_heap(cursors, returns_later);
    else
      cursors.pop_back();
  }
}

void RmaProgress::note(LocationId location, std::uint64_t call_index, std::span<const Fact> facts) {
  for (const Fact& fact : facts) {
    const std::span<const Done> done = completion_.add(fact);
    if (done.empty()) continue;
    std::vector<Done>& all = by_call_[location][call_index];
    all.insert(all.end(), done.begin(), done.end());
  }
}

void RmaEvents::start(events::RmaOperation operation, std::uint64_t time_ns) {
  using Operation = events::RmaOperation::Operation;
  const std::uint32_t window = ids_.window(operation.window());
  if (window == ProcessWindows::kUndefined || operation.target() < 0) return;
  const std::uint32_t remote = remote_of(operation);
  const RequestId request = operation.request();
  const auto start_atomic = [&](OTF2_RmaAtomicType type) {
    calls_.make(OTF2_EvtWriter_RmaAtomic, writer_, nullptr, time_ns, window, remote, type,
                operation.bytes_to_target(), operation.bytes_from_target(), request);
  };
  switch (operation.operation()) {
    case Operation::kPut:
      return calls_.make(OTF2_EvtWriter_RmaPut, writer_, nullptr, time_ns, window, remote,
                         operation.bytes_to_target(), request);
    case Operation::kGet:
      return calls_.make(OTF2_EvtWriter_RmaGet, writer_, nullptr, time_ns, window, remote,
                         operation.bytes_from_target(), request);
    case Operation::kAccumulate:
      return start_atomic(OTF2_RMA_ATOMIC_TYPE_ACCUMULATE);
    case Operation::kGetAccumulate:
      return start_atomic(OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE);
    case Operation::kCompareAndSwap:
      return start_atomic(OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP);
  }
}

bool RmaEvents::start(events::RmaSync sync, std::uint64_t time_ns) {
  using Sync = events::RmaSync::Sync;
  const std::uint32_t window = ids_.window(sync.window());
  if (window == ProcessWindows::kUndefined) return false;
  switch (sync.sync()) {
    case Sync::kFence:
      calls_.make(OTF2_EvtWriter_RmaCollectiveBegin, writer_, nullptr, time_ns);
      return true;
    case Sync::kLock:
      calls_.make(OTF2_EvtWriter_RmaRequestLock, writer_, nullptr, time_ns, window, remote_of(sync),
                  0, sync.is_exclusive() ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED);
      return false;
    case Sync::kGroup:
    case Sync::kUnlock:
    case Sync::kFlush:
    case Sync::kMemory:
      return true;
  }
  return true;
}

bool RmaEvents::start(events::WindowUse use, std::uint64_t time_ns) {
  if (ids_.window(use.window()) == ProcessWindows::kUndefined) return false;
  if (use.use() != events::WindowUse::Use::kOther)
    calls_.make(OTF2_EvtWriter_RmaCollectiveBegin, writer_, nullptr, time_ns);
  return true;
}

void RmaEvents::complete(const RmaCompletion::Done& done, std::uint64_t time_ns) {
  const std::uint32_t window = ids_.window(done.window);
  if (window == ProcessWindows::kUndefined) return;
  if (done.is_local)
    calls_.make(OTF2_EvtWriter_RmaOpCompleteNonBlocking, writer_, nullptr, time_ns, window,
                done.operation);
  if (done.is_remote)
    calls_.make(OTF2_EvtWriter_RmaOpCompleteRemote, writer_, nullptr, time_ns, window,
                done.operation);
}

std::uint32_t RmaEvents::finish(const Fact& fact, std::uint64_t time_ns) {
  if (const auto use = events::as<events::WindowUse>(fact)) return finish(*use, time_ns);
  if (const auto sync = events::as<events::RmaSync>(fact)) finish(*sync, time_ns);
  return ProcessWindows::kUndefined;
}

std::uint32_t RmaEvents::finish(events::WindowUse use, std::uint64_t time_ns) {
  using Use = events::WindowUse::Use;
  const std::uint32_t window = ids_.window(use.window());
  const bool is_allocated = ids_.is_allocated(use.window());
  switch (use.use()) {
    case Use::kCreated:
      calls_.make(OTF2_EvtWriter_RmaWinCreate, writer_, nullptr, time_ns, window);
      end_collective(window,
                     is_allocated ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE
                                  : OTF2_COLLECTIVE_OP_CREATE_HANDLE,
                     OTF2_RMA_SYNC_LEVEL_PROCESS, time_ns);
      return window;
    case Use::kFreed:
      calls_.make(OTF2_EvtWriter_RmaWinDestroy, writer_, nullptr, time_ns, window);
      end_collective(window,
                     is_allocated ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE
                                  : OTF2_COLLECTIVE_OP_DESTROY_HANDLE,
                     OTF2_RMA_SYNC_LEVEL_PROCESS, time_ns);
      return window;
    case Use::kOther:  // no OTF2 event
      break;
  }
  return ProcessWindows::kUndefined;
}

void RmaEvents::finish(events::RmaSync sync, std::uint64_t time_ns) {
  using Sync = events::RmaSync::Sync;
  const std::uint32_t window = ids_.window(sync.window());
  switch (sync.sync()) {
    case Sync::kFence:
      return end_collective(window, OTF2_COLLECTIVE_OP_BARRIER, fence_level(sync), time_ns);
    case Sync::kGroup: {
      const std::uint32_t group = ids_.group(sync.group());
      if (group == ProcessWindows::kUndefined) return;
      return calls_.make(OTF2_EvtWriter_RmaGroupSync, writer_, nullptr, time_ns, group_level(sync),
                         window, group);
    }
    case Sync::kUnlock:
      return calls_.make(OTF2_EvtWriter_RmaReleaseLock, writer_, nullptr, time_ns, window,
                         remote_of(sync), 0);
    case Sync::kMemory:
      return calls_.make(OTF2_EvtWriter_RmaSync, writer_, nullptr, time_ns, window,
                         ids_.my_rank(sync.comm()), OTF2_RMA_SYNC_TYPE_MEMORY);
    case Sync::kLock:   // written at the Enter
    case Sync::kFlush:  // only completes operations
      return;
  }
}

void RmaEvents::end_collective(std::uint32_t window, OTF2_CollectiveOp operation,
                               OTF2_RmaSyncLevel level, std::uint64_t time_ns) {
  calls_.make(OTF2_EvtWriter_RmaCollectiveEnd, writer_, nullptr, time_ns, operation, level, window,
              static_cast<std::uint32_t>(OTF2_COLLECTIVE_ROOT_NONE), 0, 0);
}

void RmaEvents::test(events::RequestUse use, std::uint64_t time_ns) {
  const std::uint32_t window = ids_.window(use.window());
  if (window == ProcessWindows::kUndefined) return;
  calls_.make(OTF2_EvtWriter_RmaOpTest, writer_, nullptr, time_ns, window, use.request());
}

}  // namespace megascope::otf2
