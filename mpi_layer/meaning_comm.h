#pragma once

#include "mpi_layer/intercept.h"
#include "mpi_layer/meaning_coll.h"
#include "mpi_layer/regions.h"
#include "mpi_layer/windows.h"

/// Communicators: their making, naming and end, and which one a query is about. MPI-4.1 §7, §8.
namespace megascope::mpi {

namespace comm {

/// Says which communicator the call is about, no more.
struct About : NoMeaning {
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, Args&... args) noexcept {
    set_comm(thread, call, first_of(args...));
  }
};

/// Made by a call that is collective over the whole of the communicator given.
template <Fn F>
struct CollectiveCreation {
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, Args&... args) noexcept {
    coll::begin(thread, call, first_of(args...));
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, Args&... args) noexcept {
    if (coll::take_back_refused(call, rc)) return;
    const CommOrigin origin = collective_origin(mpi_name(F), call.state);
    if (rc == MPI_SUCCESS) adopt_comm(thread, *last_of(args...), origin);
  }
};

}  // namespace comm

#define MEGASCOPE_CREATION(name) \
  template <> struct Meaning<Fn::name> : comm::CollectiveCreation<Fn::name> {};
MEGASCOPE_CREATION(Comm_dup)
MEGASCOPE_CREATION(Comm_dup_with_info)
MEGASCOPE_CREATION(Comm_create)
MEGASCOPE_CREATION(Comm_split)
MEGASCOPE_CREATION(Comm_split_type)
MEGASCOPE_CREATION(Intercomm_merge)
MEGASCOPE_CREATION(Cart_create)
MEGASCOPE_CREATION(Cart_sub)
MEGASCOPE_CREATION(Graph_create)
MEGASCOPE_CREATION(Dist_graph_create)
MEGASCOPE_CREATION(Dist_graph_create_adjacent)
#undef MEGASCOPE_CREATION

template <> struct Meaning<Fn::Comm_idup> {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_Comm comm, MPI_Comm*, MPI_Request*) noexcept {
    coll::begin(thread, call, comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm, MPI_Comm* result,
                       MPI_Request* request) noexcept {
    coll::started(thread, call, rc, *request);
    if (is_refusal(rc)) return;
    const CommOrigin origin = collective_origin(mpi_name(Fn::Comm_idup), call.state);
    if (rc == MPI_SUCCESS) adopt_duplicate(thread, *result, origin);
  }
};

template <> struct Meaning<Fn::Comm_create_group> : comm::About {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm, MPI_Group group, int tag,
                       MPI_Comm* result) noexcept {
    if (rc != MPI_SUCCESS) return;
    const std::uint64_t members = hash_ranks(world_ranks_of(group));
    adopt_comm(thread, *result, group_origin(mpi_name(Fn::Comm_create_group), call.state, members, tag));
  }
};

template <> struct Meaning<Fn::Intercomm_create> : comm::About {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm, int, MPI_Comm, int, int tag,
                       MPI_Comm* result) noexcept {
    if (rc == MPI_SUCCESS) adopt_intercomm(thread, *result, mpi_name(Fn::Intercomm_create), call.state, tag);
  }
};

namespace comm {

/// The communicator ends with this call.
struct End {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_Comm* comm) noexcept {
    if (comm == nullptr) return;
    set_comm(thread, call, *comm);
    call.second.bytes = key_of(*comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm*) noexcept {
    const std::uint64_t key = call.second.bytes;
    call.second = {};
    if (rc != MPI_SUCCESS || call.state == nullptr) return;
    forget_comm(key, *call.state);
    if (call.comm != kNoComm) stage(thread, {.kind = FactKind::kCommFreed, .comm = call.comm});
  }
};

}  // namespace comm

template <> struct Meaning<Fn::Comm_free> : comm::End {};
template <> struct Meaning<Fn::Comm_disconnect> : comm::End {};

template <> struct Meaning<Fn::Comm_set_name> : comm::About {
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, MPI_Comm, const char* name) noexcept {
    if (rc == MPI_SUCCESS && call.state != nullptr) rename_comm(*call.state, name);
  }
};

/// A freed datatype's handle may come back as another type: in another thread before MPI_Type_free has returned, here after
/// an attribute function has used the type for the last time.
template <> struct Meaning<Fn::Type_free> {
  static constexpr bool kKeepsBooksOnly = true;
  [[gnu::always_inline]] static void describe(MpiThread&, CallRecord&, MPI_Datatype*) noexcept {
    g_type_generation.fetch_add(1, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord&, int rc, MPI_Datatype*) noexcept {
    if (rc == MPI_SUCCESS) g_type_generation.fetch_add(1, std::memory_order_relaxed);
  }
};

/// The same for groups, which synchronisations of windows name.
template <> struct Meaning<Fn::Group_free> {
  static constexpr bool kKeepsBooksOnly = true;
  [[gnu::always_inline]] static void describe(MpiThread&, CallRecord&, MPI_Group*) noexcept {
    g_group_generation.fetch_add(1, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord&, int rc, MPI_Group*) noexcept {
    if (rc == MPI_SUCCESS) g_group_generation.fetch_add(1, std::memory_order_relaxed);
  }
};

#define MEGASCOPE_ABOUT(name) \
  template <> struct Meaning<Fn::name> : comm::About {};
MEGASCOPE_ABOUT(Comm_rank)
MEGASCOPE_ABOUT(Comm_size)
MEGASCOPE_ABOUT(Comm_remote_size)
MEGASCOPE_ABOUT(Comm_test_inter)
MEGASCOPE_ABOUT(Comm_group)
MEGASCOPE_ABOUT(Comm_remote_group)
MEGASCOPE_ABOUT(Comm_get_name)
MEGASCOPE_ABOUT(Comm_get_info)
MEGASCOPE_ABOUT(Comm_set_info)
MEGASCOPE_ABOUT(Topo_test)
MEGASCOPE_ABOUT(Cart_coords)
MEGASCOPE_ABOUT(Cart_get)
MEGASCOPE_ABOUT(Cart_map)
MEGASCOPE_ABOUT(Cart_rank)
MEGASCOPE_ABOUT(Cart_shift)
MEGASCOPE_ABOUT(Cartdim_get)
MEGASCOPE_ABOUT(Graph_get)
MEGASCOPE_ABOUT(Graph_map)
MEGASCOPE_ABOUT(Graph_neighbors)
MEGASCOPE_ABOUT(Graph_neighbors_count)
MEGASCOPE_ABOUT(Graphdims_get)
MEGASCOPE_ABOUT(Dist_graph_neighbors)
MEGASCOPE_ABOUT(Dist_graph_neighbors_count)
#undef MEGASCOPE_ABOUT

}  // namespace megascope::mpi
