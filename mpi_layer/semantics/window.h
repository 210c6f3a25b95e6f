#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/handles/windows.h"
#include "mpi_layer/semantics/coll.h"
#include "mpi_layer/semantics/recorded_arguments.h"
#include "mpi_layer/table/regions.h"

/// Semantics of calls on windows, from creation to free. MPI-4.1 §12.2; OTF2 RmaWinCreate,
/// RmaWinDestroy.
namespace megascope::mpi {

namespace one_sided {

using Thread = MpiThread;
using Rec = CallRecord;
using Type = MPI_Datatype;

/// Sets the call's window and communicator. Returns nullptr if the call is not recorded. If the
/// window is unknown, stores its handle for On::complete().
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

/// Makes a fact of `kind` about a window.
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

/// Returns whether the error code means that the operation did not begin: MPI rejected the
/// arguments, or the window is in another epoch.
bool has_not_begun(int rc) noexcept;

/// Base of the semantics of calls on a window. Report::say() sets the facts of the call. A window
/// whose creation was not recorded is queried only after a call on it has succeeded. Before, the
/// handle might be invalid, and MPI would report the error for the library's query.
template <class Report>
struct On {
  template <class... Args>
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, Args&&... args) noexcept {
    Report::say(thread, call, args...);
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc,
                                              Args&&... args) noexcept {
    if (call.window == nullptr) [[unlikely]] {
      const MPI_Win unseen = handle_of<MPI_Win>(call.second.bytes);
      call.second = {};
      if (rc == MPI_SUCCESS && learn_window(unseen) != nullptr) Report::say(thread, call, args...);
    }
    Report::done(thread, call, rc, args...);
  }
  template <class... Args>
  [[gnu::always_inline]] static void done(Thread&, Rec&, int, Args&&...) noexcept {}
};

/// Sets the fact of a synchronisation with one target; target kNoPeer: with all ranks.
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

template <FactKind Kind, std::uint64_t Bytes = 0>
struct WithAll : On<WithAll<Kind, Bytes>> {
  static constexpr std::string_view kRecordedFields = "communicator, window";
  template <class... Rest>
  [[gnu::always_inline]] static void say(Thread& thread, Rec& call, MPI_Win window,
                                         Rest&&...) noexcept {
    window_sync(thread, call, window, Kind, Bytes);
  }
};
using About = WithAll<FactKind::kWindow>;
/// Like About, for calls with further meaningful arguments, of which not all are recorded.
struct Object : About {
  static constexpr bool kNamesObject = true;
};

struct Attach : On<Attach> {
  static constexpr std::string_view kRecordedFields = "communicator, window, window bytes";
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

// Creation and end of windows.

[[gnu::always_inline]] inline void begin_making(Thread& thread, Rec& call, MPI_Comm comm) noexcept {
  CommState* state = set_comm(thread, call, comm);
  if (state == nullptr || !state->is_recorded) return;
  call.main = {.kind = FactKind::kWinCreated,
               .comm = state->id,
               .sequence = state->collective_count++,
               .tag = window_field(kNoWin)};
  call.second.sequence = state->window_count++;
}
void end_making(Rec& call, int rc, MPI_Win window, const WindowMaking& making) noexcept;

/// Sets the size and the displacement unit of the window.
[[gnu::always_inline]] inline void set_extent(WindowMaking& making, MPI_Aint size,
                                              int unit) noexcept {
  making.size_bytes = static_cast<std::uint64_t>(size);
  making.displacement_bytes = static_cast<std::uint32_t>(unit);
}

/// Semantics of the creation of a window. CommAt: index of the communicator argument. If CommAt is
/// 3 or more, the arguments CommAt - 3 and CommAt - 2 are the size and the displacement unit.
/// MPI_Win_create_dynamic, where CommAt is 1, has neither.
template <Fn F, WindowFlavor Flavor, unsigned CommAt>
struct Creation {
  static constexpr std::string_view kRecordedFields = CommAt >= 3
                                                          ? "communicator, window, window bytes"
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
  static constexpr std::string_view kRecordedFields = "communicator, window";
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
struct Semantics<Fn::Win_create> : one_sided::Creation<Fn::Win_create, WindowFlavor::kCreate, 4> {};
template <>
struct Semantics<Fn::Win_allocate>
    : one_sided::Creation<Fn::Win_allocate, WindowFlavor::kAllocate, 3> {};
template <>
struct Semantics<Fn::Win_allocate_shared>
    : one_sided::Creation<Fn::Win_allocate_shared, WindowFlavor::kShared, 3> {};
template <>
struct Semantics<Fn::Win_create_dynamic>
    : one_sided::Creation<Fn::Win_create_dynamic, WindowFlavor::kDynamic, 1> {};
template <>
struct Semantics<Fn::Win_free> : one_sided::Free {};
template <>
struct Semantics<Fn::Win_attach> : one_sided::Attach {};
template <>
struct Semantics<Fn::Win_detach> : one_sided::Object {};
template <>
struct Semantics<Fn::Win_set_name> : one_sided::SetName {};
template <>
struct Semantics<Fn::Win_get_name> : one_sided::About {};
template <>
struct Semantics<Fn::Win_get_group> : one_sided::About {};
template <>
struct Semantics<Fn::Win_get_info> : one_sided::Object {};
template <>
struct Semantics<Fn::Win_set_info> : one_sided::Object {};
template <>
struct Semantics<Fn::Win_shared_query>
    : Records<one_sided::About, RecordedArgument{1, ValueName::kWindowRank},
              RecordedArgument{2, ValueName::kWindowBytes},
              RecordedArgument{3, ValueName::kDisplacementUnit}> {};

}  // namespace megascope::mpi
