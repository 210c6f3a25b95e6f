#pragma once

#include "mpi_layer/semantics/comm.h"

/// Semantics of calls that connect worlds: spawn, accept and connect, join. The new communicator
/// may include processes of another world (CommKind kRemote); calls on it are then recorded without
/// messages and collectives. MPI-4.1 §11.
namespace megascope::mpi {

namespace dynamic {

/// Semantics of calls that are collective over a communicator and have a root. RootAt: index of the
/// root argument. The next two arguments are the communicator and the new communicator.
template <Fn F, unsigned RootAt>
struct Connecting {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, new communicator";
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              Args&&... args) noexcept {
    const CommState* state = coll::begin(thread, call, argument<RootAt + 1>(args...));
    if (state != nullptr) call.main.peer = coll::shown_root(*state, argument<RootAt>(args...));
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              Args&&... args) noexcept {
    if (coll::take_back_refused(call, rc)) return;
    const CommOrigin origin = collective_origin(mpi_name(F), call.state);
    // Some processes may have been started although others failed.
    MPI_Comm* made = argument<RootAt + 2>(args...);
    if (rc == MPI_SUCCESS && made != nullptr) adopt_connection(thread, *made, origin);
  }
};

}  // namespace dynamic

template <>
struct Semantics<Fn::Comm_spawn> : dynamic::Connecting<Fn::Comm_spawn, 4> {};
template <>
struct Semantics<Fn::Comm_spawn_multiple> : dynamic::Connecting<Fn::Comm_spawn_multiple, 5> {};
template <>
struct Semantics<Fn::Comm_accept> : dynamic::Connecting<Fn::Comm_accept, 2> {};
template <>
struct Semantics<Fn::Comm_connect> : dynamic::Connecting<Fn::Comm_connect, 2> {};

template <>
struct Semantics<Fn::Comm_join> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "new communicator";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, int,
                                              MPI_Comm* made) noexcept {
    if (rc != MPI_SUCCESS || made == nullptr) return;
    adopt_connection(
        thread, *made,
        group_origin(mpi_name(Fn::Comm_join), comm_state(thread, g_handles.comm_self), 0, 0));
  }
};

template <>
struct Semantics<Fn::Comm_get_parent> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "communicator";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Comm* parent) noexcept {
    if (rc != MPI_SUCCESS || parent == nullptr) return;
    adopt_parent(thread, *parent);
    set_comm(thread, call, *parent);
  }
};

}  // namespace megascope::mpi
