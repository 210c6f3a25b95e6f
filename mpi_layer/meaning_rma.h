#pragma once

#include "mpi_layer/intercept.h"
#include "mpi_layer/meaning_coll.h"
#include "mpi_layer/regions.h"
#include "mpi_layer/requests.h"
#include "mpi_layer/told.h"
#include "mpi_layer/types.h"
#include "mpi_layer/windows.h"

/// One-sided communication: windows, operations with target and bytes, synchronisation. Targets are
/// ranks in the window's communicator. Which operations a synchronisation completes is found out
/// when reading (rma_completion.h). MPI-4.1 §12; OTF2 RmaWinCreate … RmaSync.
namespace megascope::mpi {

namespace one_sided {

using Thread = MpiThread;
using Rec = CallRecord;
using Type = MPI_Datatype;

/// Sets the call's window and communicator. nullptr: nothing to tell. The handle of a window that
/// is not known is kept.
[[gnu::always_inline]] inline WinState* set_window(Thread& thread, Rec& call,
                                                   MPI_Win window) noexcept {
  WinState* state = window_state(thread, window);
  call.window = state;
  if (state == nullptr) [[unlikely]]
    call.second.bytes = key_of(window);
  if (state == nullptr) return nullptr;
  call.comm = state->comm->id;
  return state->id != kNoWin ? state : nullptr;
}

/// A fact of `kind` about a window.
[[gnu::always_inline]] inline Fact about(const WinState& state, FactKind kind,
                                         std::int32_t peer = kNoPeer,
                                         std::uint64_t bytes = 0) noexcept {
  return {.kind = kind,
          .comm = state.comm->id,
          .peer = peer,
          .tag = window_field(state.id),
          .bytes = bytes};
}

inline std::uint64_t assertion(int assert) noexcept {
  return ((assert& MPI_MODE_NOCHECK) != 0 ? rma::kNoCheck : 0) |
         ((assert& MPI_MODE_NOSTORE) != 0 ? rma::kNoStore : 0) |
         ((assert& MPI_MODE_NOPUT) != 0 ? rma::kNoPut : 0) |
         ((assert& MPI_MODE_NOPRECEDE) != 0 ? rma::kNoPrecede : 0) |
         ((assert& MPI_MODE_NOSUCCEED) != 0 ? rma::kNoSucceed : 0);
}

/// The frame of every call on a window: `Say::say` fills in the call. A window that was made out of
/// our sight is asked for once a call on it has succeeded; before, MPI might have found fault with
/// the handle in our name.
template <class Say>
struct On {
  template <class... Args>
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, Args&&... args) noexcept {
    Say::say(thread, call, args...);
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc,
                                              Args&&... args) noexcept {
    if (call.window == nullptr) [[unlikely]] {
      const MPI_Win unseen = handle_of<MPI_Win>(call.second.bytes);
      call.second = {};
      if (rc == MPI_SUCCESS && learn_window(unseen) != nullptr) Say::say(thread, call, args...);
    }
    Say::done(thread, call, rc, args...);
  }
  template <class... Args>
  [[gnu::always_inline]] static void done(Thread&, Rec&, int, Args&&...) noexcept {}
};

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

/// The request at the end of Rput … is followed like one of point-to-point.
template <class... Args>
[[gnu::always_inline]] inline void start_operation(Thread& thread, Rec& call, int rc,
                                                   Args&&... args) noexcept {
  if (rc == MPI_SUCCESS) call.main.request = start_request(thread, *last_of(args...), call.main);
}

template <FactKind Kind>
struct Put : On<Put<Kind>> {
  static constexpr std::string_view
      kTells = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, int count,
                                         Type type, int target, MPI_Aint, int, Type, MPI_Win window,
                                         MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, payload_bytes(thread, count, type), 0);
  }
};
template <FactKind Kind>
struct Get : On<Get<Kind>> {
  static constexpr std::string_view
      kTells = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, void*, int count, Type type,
                                         int target, MPI_Aint, int, Type, MPI_Win window,
                                         MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, 0, payload_bytes(thread, count, type));
  }
};
template <FactKind Kind>
struct Accumulate : On<Accumulate<Kind>> {
  static constexpr std::string_view
      kTells = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, int count,
                                         Type type, int target, MPI_Aint, int, Type, MPI_Op,
                                         MPI_Win window, MPI_Request* = nullptr) noexcept {
    operation(thread, call, Kind, target, window, payload_bytes(thread, count, type), 0);
  }
};
/// With MPI_NO_OP the origin's arguments mean nothing.
template <FactKind Kind>
struct GetAccumulate : On<GetAccumulate<Kind>> {
  static constexpr std::string_view
      kTells = "communicator, window, target, bytes sent, bytes received";
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
      kTells = "communicator, window, target, bytes sent, bytes received";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, const void*, void*, Type type,
                                         int target, MPI_Aint, MPI_Op op, MPI_Win window) noexcept {
    const std::uint64_t bytes = type_size(thread, type);
    operation(thread, call, FactKind::kGetAccumulate, target, window,
              op != g_handles.op_no_op ? bytes : 0, bytes);
  }
};
struct CompareAndSwap : On<CompareAndSwap> {
  static constexpr std::string_view
      kTells = "communicator, window, target, bytes sent, bytes received";
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

/// MPI found the arguments wrong, or the window in another epoch: nothing began.
bool has_not_begun(int rc) noexcept;

struct Fence : On<Fence> {
  static constexpr std::string_view kTells = "communicator, window, sequence number, assertions";
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

/// MPI_Win_post and MPI_Win_start name a group; MPI_Win_wait and MPI_Win_complete end what was
/// begun with it.
template <std::uint64_t What>
struct BeginWithGroup : On<BeginWithGroup<What>> {
  static constexpr std::string_view kTells = "communicator, window, group, assertions";
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
  static constexpr std::string_view kTells = "communicator, window, group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window) noexcept {
    const WinState* state = window_state(thread, window);
    group_sync(thread, call, window, rma::kComplete,
               state != nullptr ? state->access_group.load(std::memory_order_relaxed) : kNoGroup);
  }
};
struct Wait : On<Wait> {
  static constexpr std::string_view kTells = "communicator, window, group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window) noexcept {
    const WinState* state = window_state(thread, window);
    group_sync(thread, call, window, rma::kWait,
               state != nullptr ? state->exposure_group.load(std::memory_order_relaxed) : kNoGroup);
  }
};
struct Test : On<Test> {
  static constexpr std::string_view kTells = "communicator, window, group, flag by the group";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window, int*) noexcept {
    Wait::say(thread, call, window);
  }
  [[gnu::always_inline]] static void done(Thread&, Rec& call, int rc, MPI_Win, int* flag) noexcept {
    if (rc == MPI_SUCCESS && *flag == 0 && call.window != nullptr)
      call.main = about(*call.window, FactKind::kWindow);
  }
};

/// A synchronisation with one target, or with all of them: kNoPeer.
[[gnu::always_inline]] inline void target_sync(Thread& thread, Rec& call, MPI_Win window,
                                               FactKind kind, std::int32_t target,
                                               std::uint64_t bytes = 0) noexcept {
  const WinState* state = set_window(thread, call, window);
  if (state != nullptr) call.main = about(*state, kind, target, bytes);
}
[[gnu::always_inline]] inline void window_sync(Thread& thread, Rec& call, MPI_Win window,
                                               FactKind kind, std::uint64_t bytes = 0) noexcept {
  target_sync(thread, call, window, kind, kNoPeer, bytes);
}

struct Lock : On<Lock> {
  static constexpr std::string_view kTells = "communicator, window, target, lock type, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int type, int target,
                                         int assert, MPI_Win window) noexcept {
    const std::uint64_t exclusive = type == MPI_LOCK_EXCLUSIVE ? rma::kExclusive : 0;
    target_sync(thread, call, window, FactKind::kLock, target, exclusive | assertion(assert));
  }
};
struct LockAll : On<LockAll> {
  static constexpr std::string_view kTells = "communicator, window, assertions";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int assert,
                                         MPI_Win window) noexcept {
    window_sync(thread, call, window, FactKind::kLock, assertion(assert));
  }
};
template <FactKind Kind, std::uint64_t Bytes = 0>
struct WithTarget : On<WithTarget<Kind, Bytes>> {
  static constexpr std::string_view kTells = "communicator, window, target";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, int target,
                                         MPI_Win window) noexcept {
    target_sync(thread, call, window, Kind, target, Bytes);
  }
};
template <FactKind Kind, std::uint64_t Bytes = 0>
struct WithAll : On<WithAll<Kind, Bytes>> {
  static constexpr std::string_view kTells = "communicator, window";
  template <class... Rest>
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window,
                                         Rest&&...) noexcept {
    window_sync(thread, call, window, Kind, Bytes);
  }
};
using About = WithAll<FactKind::kWindow>;
/// The same, where the call has arguments that mean more.
struct Object : About {
  static constexpr bool kNamesObject = true;
};

struct Attach : On<Attach> {
  static constexpr std::string_view kTells = "communicator, window, window bytes";
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window, void*,
                                         MPI_Aint size) noexcept {
    window_sync(thread, call, window, FactKind::kWindow,
                size > 0 ? static_cast<std::uint64_t>(size) : 0);
  }
};
struct SetName : About {
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc, MPI_Win window,
                                              const char* name) noexcept {
    About::complete(thread, call, rc, window, name);
    if (rc == MPI_SUCCESS && call.window != nullptr) rename_window(*call.window, name);
  }
};

// Windows from their making to their end.

[[gnu::always_inline]] inline void begin_making(Thread& thread, Rec& call, MPI_Comm comm) noexcept {
  CommState* state = set_comm(thread, call, comm);
  if (state == nullptr || !state->is_told) return;
  call.main = {.kind = FactKind::kWinCreated,
               .comm = state->id,
               .sequence = state->collective_count++,
               .tag = window_field(kNoWin)};
  call.second.sequence = state->window_count++;
}
void end_making(Rec& call, int rc, MPI_Win window, const WindowMaking& making) noexcept;

/// What a window is made of: its size and the unit of displacements, where they are given.
[[gnu::always_inline]] inline void set_extent(WindowMaking& making, MPI_Aint size,
                                              int unit) noexcept {
  making.size_bytes = static_cast<std::uint64_t>(size);
  making.displacement_bytes = static_cast<std::uint32_t>(unit);
}

/// CommAt: which argument is the communicator. Size and unit come before it.
template <Fn F, WindowFlavor Flavor, unsigned CommAt>
struct Creation {
  static constexpr std::string_view kTells = CommAt >= 3 ? "communicator, window, window bytes"
                                                         : "communicator, window";
  template <class... Args>
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, Args&&... args) noexcept {
    begin_making(thread, call, argument<CommAt>(args...));
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread&, Rec& call, int rc, Args&&... args) noexcept {
    WindowMaking making{.function = mpi_name(F), .flavor = Flavor};
    if constexpr (CommAt >= 3)
      set_extent(making, argument<CommAt - 3>(args...), argument<CommAt - 2>(args...));
    end_making(call, rc, rc == MPI_SUCCESS ? *last_of(args...) : MPI_Win{}, making);
  }
};

struct Free {
  static constexpr std::string_view kTells = "communicator, window";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, MPI_Win* window) noexcept {
    if (window == nullptr) return;
    call.second.bytes = key_of(*window);
    window_sync(thread, call, *window, FactKind::kWinFreed);
    if (call.main.kind == FactKind::kWinFreed) call.main.sequence = call.window->collective_count++;
  }
  [[gnu::always_inline]] static void complete(Thread&, Rec& call, int rc, MPI_Win*) noexcept {
    const std::uint64_t key = call.second.bytes;
    call.second = {};
    if (call.window == nullptr) return;
    if (rc == MPI_SUCCESS)
      forget_window(key, *call.window);
    else if (call.main.kind == FactKind::kWinFreed && has_not_begun(rc))
      --call.window->collective_count;
  }
};

}  // namespace one_sided

template <>
struct Meaning<Fn::Put> : one_sided::Put<FactKind::kPut> {};
template <>
struct Meaning<Fn::Get> : one_sided::Get<FactKind::kGet> {};
template <>
struct Meaning<Fn::Accumulate> : one_sided::Accumulate<FactKind::kAccumulate> {};
template <>
struct Meaning<Fn::Get_accumulate> : one_sided::GetAccumulate<FactKind::kGetAccumulate> {};
template <>
struct Meaning<Fn::Fetch_and_op> : one_sided::FetchAndOp {};
template <>
struct Meaning<Fn::Compare_and_swap> : one_sided::CompareAndSwap {};
template <>
struct Meaning<Fn::Rput> : one_sided::WithRequest<one_sided::Put<FactKind::kRput>> {};
template <>
struct Meaning<Fn::Rget> : one_sided::WithRequest<one_sided::Get<FactKind::kRget>> {};
template <>
struct Meaning<Fn::Raccumulate>
    : one_sided::WithRequest<one_sided::Accumulate<FactKind::kRaccumulate>> {};
template <>
struct Meaning<Fn::Rget_accumulate>
    : one_sided::WithRequest<one_sided::GetAccumulate<FactKind::kRgetAccumulate>> {};

template <>
struct Meaning<Fn::Win_create> : one_sided::Creation<Fn::Win_create, WindowFlavor::kCreate, 4> {};
template <>
struct Meaning<Fn::Win_allocate>
    : one_sided::Creation<Fn::Win_allocate, WindowFlavor::kAllocate, 3> {};
template <>
struct Meaning<Fn::Win_allocate_shared>
    : one_sided::Creation<Fn::Win_allocate_shared, WindowFlavor::kShared, 3> {};
template <>
struct Meaning<Fn::Win_create_dynamic>
    : one_sided::Creation<Fn::Win_create_dynamic, WindowFlavor::kDynamic, 1> {};
template <>
struct Meaning<Fn::Win_free> : one_sided::Free {};
template <>
struct Meaning<Fn::Win_attach> : one_sided::Attach {};
template <>
struct Meaning<Fn::Win_detach> : one_sided::Object {};
template <>
struct Meaning<Fn::Win_set_name> : one_sided::SetName {};
template <>
struct Meaning<Fn::Win_get_name> : one_sided::About {};
template <>
struct Meaning<Fn::Win_get_group> : one_sided::About {};
template <>
struct Meaning<Fn::Win_get_info> : one_sided::Object {};
template <>
struct Meaning<Fn::Win_set_info> : one_sided::Object {};
template <>
struct Meaning<Fn::Win_shared_query>
    : Tells<one_sided::About, Told{1, ValueName::kWindowRank}, Told{2, ValueName::kWindowBytes},
            Told{3, ValueName::kDisplacementUnit}> {};

template <>
struct Meaning<Fn::Win_fence> : one_sided::Fence {};
template <>
struct Meaning<Fn::Win_post> : one_sided::BeginWithGroup<rma::kPost> {};
template <>
struct Meaning<Fn::Win_start> : one_sided::BeginWithGroup<rma::kStart> {};
template <>
struct Meaning<Fn::Win_complete> : one_sided::Complete {};
template <>
struct Meaning<Fn::Win_wait> : one_sided::Wait {};
template <>
struct Meaning<Fn::Win_test> : one_sided::Test {};
template <>
struct Meaning<Fn::Win_lock> : one_sided::Lock {};
template <>
struct Meaning<Fn::Win_lock_all> : one_sided::LockAll {};
template <>
struct Meaning<Fn::Win_unlock> : one_sided::WithTarget<FactKind::kUnlock> {};
template <>
struct Meaning<Fn::Win_unlock_all> : one_sided::WithAll<FactKind::kUnlock> {};
template <>
struct Meaning<Fn::Win_flush> : one_sided::WithTarget<FactKind::kFlush> {};
template <>
struct Meaning<Fn::Win_flush_all> : one_sided::WithAll<FactKind::kFlush> {};
template <>
struct Meaning<Fn::Win_flush_local> : one_sided::WithTarget<FactKind::kFlush, 1> {};
template <>
struct Meaning<Fn::Win_flush_local_all> : one_sided::WithAll<FactKind::kFlush, 1> {};
template <>
struct Meaning<Fn::Win_sync> : one_sided::WithAll<FactKind::kWinSync> {};

}  // namespace megascope::mpi
