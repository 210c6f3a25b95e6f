#include "exporters/otf2/rma_events.h"

#include <algorithm>
#include <memory>

namespace megascope::otf2 {
namespace {

std::uint32_t remote_of(const Fact& fact) {
  return fact.peer == kNoPeer ? OTF2_UNDEFINED_UINT32 : static_cast<std::uint32_t>(fact.peer);
}

OTF2_RmaAtomicType atomic_type(FactKind kind) {
  switch (kind) {
    case FactKind::kCompareAndSwap:
      return OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP;
    case FactKind::kGetAccumulate:
    case FactKind::kRgetAccumulate:
      return OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE;
    default:
      return OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
  }
}

/// A fence with MPI_MODE_NOPRECEDE need not synchronize with others. MPI-4.1 §12.5.1
OTF2_RmaSyncLevel fence_level(const Fact& fact) {
  const bool ends_nothing = (fact.bytes & rma::kNoPrecede) != 0;
  return ends_nothing ? OTF2_RMA_SYNC_LEVEL_NONE
                      : OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
}

OTF2_RmaSyncLevel group_level(const Fact& fact) {
  const std::uint64_t what = fact.bytes & rma::kGroupSyncMask;
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

bool RmaEvents::start(const Fact& fact, std::uint64_t time_ns) {
  if (fact.kind == FactKind::kRmaComplete) return true;
  const std::uint32_t window = ids_.window(window_of(fact));
  if (window == ProcessWindows::kUndefined) return false;
  if (is_rma_operation(fact.kind)) {
    if (fact.peer >= 0) start_operation(fact, window, time_ns);
    return false;
  }
  switch (fact.kind) {
    case FactKind::kWinCreated:
    case FactKind::kWinFreed:
    case FactKind::kFence:
      calls_.make(OTF2_EvtWriter_RmaCollectiveBegin, writer_, nullptr, time_ns);
      return true;
    case FactKind::kLock:
      calls_.make(OTF2_EvtWriter_RmaRequestLock, writer_, nullptr, time_ns, window, remote_of(fact),
                  0, (fact.bytes & rma::kExclusive) != 0 ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED);
      return false;
    default:
      return true;
  }
}

void RmaEvents::start_operation(const Fact& fact, std::uint32_t window, std::uint64_t time_ns) {
  const std::uint32_t remote = remote_of(fact);
  switch (fact.kind) {
    case FactKind::kPut:
    case FactKind::kRput:
      calls_.make(OTF2_EvtWriter_RmaPut, writer_, nullptr, time_ns, window, remote, fact.bytes,
                  fact.request);
      break;
    case FactKind::kGet:
    case FactKind::kRget:
      calls_.make(OTF2_EvtWriter_RmaGet, writer_, nullptr, time_ns, window, remote,
                  fact.bytes_received, fact.request);
      break;
    default:
      calls_.make(OTF2_EvtWriter_RmaAtomic, writer_, nullptr, time_ns, window, remote,
                  atomic_type(fact.kind), fact.bytes, fact.bytes_received, fact.request);
  }
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

void RmaEvents::finish(const Fact& fact, std::uint64_t time_ns, std::uint32_t& window) {
  const std::uint32_t named = ids_.window(window_of(fact));
  switch (fact.kind) {
    case FactKind::kWinCreated:
      window = named;
      calls_.make(OTF2_EvtWriter_RmaWinCreate, writer_, nullptr, time_ns, named);
      return end_collective(fact, named, time_ns);
    case FactKind::kWinFreed:
      window = named;
      calls_.make(OTF2_EvtWriter_RmaWinDestroy, writer_, nullptr, time_ns, named);
      return end_collective(fact, named, time_ns);
    case FactKind::kFence:
      return end_collective(fact, named, time_ns);
    case FactKind::kGroupSync: {
      const std::uint32_t group = ids_.group(fact.sequence);
      if (group == ProcessWindows::kUndefined) return;
      calls_.make(OTF2_EvtWriter_RmaGroupSync, writer_, nullptr, time_ns, group_level(fact), named,
                  group);
      return;
    }
    case FactKind::kUnlock:
      calls_.make(OTF2_EvtWriter_RmaReleaseLock, writer_, nullptr, time_ns, named, remote_of(fact),
                  0);
      return;
    case FactKind::kWinSync:
      calls_.make(OTF2_EvtWriter_RmaSync, writer_, nullptr, time_ns, named, ids_.my_rank(fact.comm),
                  OTF2_RMA_SYNC_TYPE_MEMORY);
      return;
    default:
      return;  // kFlush: only completes operations; kWindow: no OTF2 event
  }
}

void RmaEvents::end_collective(const Fact& fact, std::uint32_t window, std::uint64_t time_ns) {
  const bool is_allocated = ids_.is_allocated(window_of(fact));
  OTF2_CollectiveOp operation = OTF2_COLLECTIVE_OP_BARRIER;
  OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS;
  if (fact.kind == FactKind::kFence) {
    level = fence_level(fact);
  } else if (fact.kind == FactKind::kWinCreated) {
    operation = is_allocated ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE
                             : OTF2_COLLECTIVE_OP_CREATE_HANDLE;
  } else {
    operation = is_allocated ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE
                             : OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
  }
  calls_.make(OTF2_EvtWriter_RmaCollectiveEnd, writer_, nullptr, time_ns, operation, level, window,
              static_cast<std::uint32_t>(OTF2_COLLECTIVE_ROOT_NONE), 0, 0);
}

void RmaEvents::test(const Fact& fact, std::uint64_t time_ns) {
  const std::uint32_t window = ids_.window(window_of(fact));
  if (window == ProcessWindows::kUndefined) return;
  calls_.make(OTF2_EvtWriter_RmaOpTest, writer_, nullptr, time_ns, window, fact.request);
}

}  // namespace megascope::otf2
