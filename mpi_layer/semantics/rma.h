#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/handles/windows.h"
#include "mpi_layer/semantics/recorded_arguments.h"
#include "mpi_layer/semantics/window.h"
#include "mpi_layer/table/regions.h"

/// Semantics of one-sided operations and of synchronisation. Operations are recorded with target
/// and bytes. A target is a rank in the window's communicator. Readers determine the operations
/// that a synchronisation completes (rma_completion.h). MPI-4.1 §12; OTF2 RmaPut … RmaSync.
namespace megascope::mpi {

namespace one_sided {

using Thread = MpiThread;
using Rec = CallRecord;
using Type = MPI_Datatype;

// Operations.

[[gnu::always_inline]] inline void operation(Thread& thread, Rec& call, FactKind kind, int target,
                                             MPI_Win window, std::uint64_t sent,
                                             std::uint64_t received) noexcept {
  const WinState* state = set_window(thread, call, window);
  if (state == nullptr || target == MPI_PROC_NULL) return;
  call.main = about(*state, kind, target, sent);
  call.main.bytes_received = received;
  if (!has_rma_request(kind)) call.main.request = requests().new_id();
}

/// Tracks the request of MPI_Rput and similar functions in the same way as that of MPI_Isend.
template <class... Args>
[[gnu::always_inline]] inline void start_operation(Thread& thread, Rec& call, int rc,
                                                   Args&&... args) noexcept {
  if (rc == MPI_SUCCESS) call.main.request = start_request(thread, *last_of(args...), call.main);
}

template <FactKind Kind>
struct Put : On<Put<Kind>> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, int count,
                                         Type type, int target, MPI_Aint, int, Type, MPI_Win window,
                                         MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, payload_bytes(thread, count, type), 0);
  }
};
template <FactKind Kind>
struct Get : On<Get<Kind>> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, void*, int count, Type type,
                                         int target, MPI_Aint, int, Type, MPI_Win window,
                                         MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, 0, payload_bytes(thread, count, type));
  }
};
template <FactKind Kind>
struct Accumulate : On<Accumulate<Kind>> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, int count,
                                         Type type, int target, MPI_Aint, int, Type, MPI_Op,
                                         MPI_Win window, MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, payload_bytes(thread, count, type), 0);
  }
};
/// With MPI_NO_OP the origin's arguments are ignored.
template <FactKind Kind>
struct GetAccumulate : On<GetAccumulate<Kind>> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, int count,
                                         Type type, void*, int result_count, Type result_type,
                                         int target, MPI_Aint, int, Type, MPI_Op op, MPI_Win window,
                                         MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window,
              op != g_handles.op_no_op ? payload_bytes(thread, count, type) : 0,
              payload_bytes(thread, result_count, result_type));
  }
};
struct FetchAndOp : On<FetchAndOp> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, void*, Type type,
                                         int target, MPI_Aint, MPI_Op op, MPI_Win window) noexcept {
    const std::uint64_t bytes = type_size(thread, type);
    operation(thread, call, FactKind::kGetAccumulate, target, window,
              op != g_handles.op_no_op ? bytes : 0, bytes);
  }
};
struct CompareAndSwap : On<CompareAndSwap> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, const void*, void*,
                                         Type type, int target, MPI_Aint, MPI_Win window) noexcept {
    const std::uint64_t bytes = type_size(thread, type);
    operation(thread, call, FactKind::kCompareAndSwap, target, window, 2 * bytes, bytes);
  }
};

/// An operation with a request.
template <class Operation>
struct WithRequest : Also<Operation, "request"> {
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc,
                                              Args&&... args) noexcept {
    Operation::complete(thread, call, rc, args...);
    start_operation(thread, call, rc, args...);
  }
};

// Synchronisation.

struct Fence : On<Fence> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, sequence number, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int assert,
                                         MPI_Win window) noexcept {
    WinState* state = set_window(thread, call, window);
    if (state == nullptr) return;
    call.main = about(*state, FactKind::kFence, kNoPeer, assertion(assert));
    call.main.sequence = state->collective_count++;
  }
  [[gnu::always_inline]] static void done(Thread&, Rec& call, int rc, int, MPI_Win) noexcept {
    if (rc != MPI_SUCCESS && call.main.kind == FactKind::kFence && has_not_begun(rc))
      --call.window->collective_count;
  }
};

[[gnu::always_inline]] inline void group_sync(Thread& thread, Rec& call, MPI_Win window,
                                              std::uint64_t what, GroupId group) noexcept {
  const WinState* state = set_window(thread, call, window);
  if (state == nullptr) return;
  call.main = about(*state, FactKind::kGroupSync, kNoPeer, what);
  call.main.sequence = group;
}

/// MPI_Win_post and MPI_Win_start name a group; MPI_Win_wait and MPI_Win_complete end the epoch of
/// that group.
template <std::uint64_t What>
struct BeginWithGroup : On<BeginWithGroup<What>> {
  static constexpr std::string_view kRecordedFields = "communicator, window, group, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Group group, int assert,
                                         MPI_Win window) noexcept {
    group_sync(thread, call, window, What | assertion(assert), group_id(thread, group));
  }
  [[gnu::always_inline]] static void done(Thread&, Rec& call, int rc, MPI_Group, int,
                                          MPI_Win) noexcept {
    if (rc != MPI_SUCCESS || call.main.kind != FactKind::kGroupSync) return;
    auto& last = What == rma::kPost ? call.window->exposure_group : call.window->access_group;
    last.store(call.main.sequence, std::memory_order_relaxed);
  }
};
struct Complete : On<Complete> {
  static constexpr std::string_view kRecordedFields = "communicator, window, group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window) noexcept {
    const WinState* state = window_state(thread, window);
    group_sync(thread, call, window, rma::kComplete,
               state != nullptr ? state->access_group.load(std::memory_order_relaxed) : kNoGroup);
  }
};
struct Wait : On<Wait> {
  static constexpr std::string_view kRecordedFields = "communicator, window, group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window) noexcept {
    const WinState* state = window_state(thread, window);
    group_sync(thread, call, window, rma::kWait,
               state != nullptr ? state->exposure_group.load(std::memory_order_relaxed) : kNoGroup);
  }
};
struct Test : On<Test> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, group, flag by the group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window, int*) noexcept {
    Wait::say(thread, call, window);
  }
  [[gnu::always_inline]] static void done(Thread&, Rec& call, int rc, MPI_Win, int* flag) noexcept {
    if (rc == MPI_SUCCESS && *flag == 0 && call.window != nullptr)
      call.main = about(*call.window, FactKind::kWindow);
  }
};

struct Lock : On<Lock> {
  static constexpr std::string_view
      kRecordedFields = "communicator, window, target, lock type, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int type, int target,
                                         int assert, MPI_Win window) noexcept {
    const std::uint64_t exclusive = type == MPI_LOCK_EXCLUSIVE ? rma::kExclusive : 0;
    target_sync(thread, call, window, FactKind::kLock, target, exclusive | assertion(assert));
  }
};
struct LockAll : On<LockAll> {
  static constexpr std::string_view kRecordedFields = "communicator, window, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int assert,
                                         MPI_Win window) noexcept {
    window_sync(thread, call, window, FactKind::kLock, assertion(assert));
  }
};
template <FactKind Kind, std::uint64_t Bytes = 0>
struct WithTarget : On<WithTarget<Kind, Bytes>> {
  static constexpr std::string_view kRecordedFields = "communicator, window, target";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int target,
                                         MPI_Win window) noexcept {
    target_sync(thread, call, window, Kind, target, Bytes);
  }
};
}  // namespace one_sided

template <>
struct Semantics<Fn::Put> : one_sided::Put<FactKind::kPut> {};
template <>
struct Semantics<Fn::Get> : one_sided::Get<FactKind::kGet> {};
template <>
struct Semantics<Fn::Accumulate> : one_sided::Accumulate<FactKind::kAccumulate> {};
template <>
struct Semantics<Fn::Get_accumulate> : one_sided::GetAccumulate<FactKind::kGetAccumulate> {};
template <>
struct Semantics<Fn::Fetch_and_op> : one_sided::FetchAndOp {};
template <>
struct Semantics<Fn::Compare_and_swap> : one_sided::CompareAndSwap {};
template <>
struct Semantics<Fn::Rput> : one_sided::WithRequest<one_sided::Put<FactKind::kRput>> {};
template <>
struct Semantics<Fn::Rget> : one_sided::WithRequest<one_sided::Get<FactKind::kRget>> {};
template <>
struct Semantics<Fn::Raccumulate>
    : one_sided::WithRequest<one_sided::Accumulate<FactKind::kRaccumulate>> {};
template <>
struct Semantics<Fn::Rget_accumulate>
    : one_sided::WithRequest<one_sided::GetAccumulate<FactKind::kRgetAccumulate>> {};

template <>
struct Semantics<Fn::Win_fence> : one_sided::Fence {};
template <>
struct Semantics<Fn::Win_post> : one_sided::BeginWithGroup<rma::kPost> {};
template <>
struct Semantics<Fn::Win_start> : one_sided::BeginWithGroup<rma::kStart> {};
template <>
struct Semantics<Fn::Win_complete> : one_sided::Complete {};
template <>
struct Semantics<Fn::Win_wait> : one_sided::Wait {};
template <>
struct Semantics<Fn::Win_test> : one_sided::Test {};
template <>
struct Semantics<Fn::Win_lock> : one_sided::Lock {};
template <>
struct Semantics<Fn::Win_lock_all> : one_sided::LockAll {};
template <>
struct Semantics<Fn::Win_unlock> : one_sided::WithTarget<FactKind::kUnlock> {};
template <>
struct Semantics<Fn::Win_unlock_all> : one_sided::WithAll<FactKind::kUnlock> {};
template <>
struct Semantics<Fn::Win_flush> : one_sided::WithTarget<FactKind::kFlush> {};
template <>
struct Semantics<Fn::Win_flush_all> : one_sided::WithAll<FactKind::kFlush> {};
template <>
struct Semantics<Fn::Win_flush_local> : one_sided::WithTarget<FactKind::kFlush, 1> {};
template <>
struct Semantics<Fn::Win_flush_local_all> : one_sided::WithAll<FactKind::kFlush, 1> {};
template <>
struct Semantics<Fn::Win_sync> : one_sided::WithAll<FactKind::kWinSync> {};

}  // namespace megascope::mpi
