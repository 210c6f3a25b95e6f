#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/own_communication/clock_sync.h"
#include "mpi_layer/semantics/coll_bytes.h"
#include "mpi_layer/semantics/recorded_arguments.h"

/// Semantics of collectives. They record the root, the bytes sent and received, the sequence number
/// on the communicator, and the request of a nonblocking collective. One type describes the
/// blocking and the nonblocking form of a function, which differ in the request argument at the
/// end. MPI-4.1 §6; OTF2 MpiCollectiveEnd, NonBlockingCollectiveRequest.
namespace megascope::mpi {

/// Returns whether the error code means that MPI rejected the arguments and did not begin the
/// operation.
bool is_refusal(int rc) noexcept;

namespace coll {

using Thread = MpiThread;
using Rec = CallRecord;
using Type = MPI_Datatype;

[[gnu::always_inline]] inline std::int32_t shown_root(const CommState& comm, int root) {
  if (!comm.is_inter) return root;
  return root == MPI_ROOT ? kSelfRoot : root == MPI_PROC_NULL ? kProcNullRoot : root;
}

/// Begins a collective: stores the communicator and the sequence number of the collective on it in
/// call.main. Returns nullptr, and does not count the collective, if the communicator is unknown or
/// its collectives are not recorded.
[[gnu::always_inline]] inline CommState* begin(Thread& thread, Rec& call, MPI_Comm comm) noexcept {
  CommState* state = set_comm(thread, call, comm);
  if (state == nullptr || !state->is_recorded) return nullptr;
  call.main = {.kind = FactKind::kCollective,
               .comm = state->id,
               .sequence = state->collective_count++,
               .tag = 0};
  return state;
}
/// Begins a collective with an array that has one element for each member of the communicator.
/// First checks that a known handle still has the communicator's size, because an array of another
/// size would be read beyond its end. Otherwise like begin().
[[gnu::always_inline]] inline CommState* begin_with_array(Thread& thread, Rec& call,
                                                          MPI_Comm comm) noexcept {
  if (CommState* known = comm_state(thread, comm); known != nullptr) verified(thread, comm, known);
  return begin(thread, call, comm);
}
/// Undoes begin() if MPI rejected the arguments. The operation did not begin on this rank then, so
/// that the next collective on the communicator gets its number. Returns whether MPI rejected the
/// arguments.
[[gnu::always_inline]] inline bool take_back_refused(Rec& call, int rc) noexcept {
  if (rc == MPI_SUCCESS) [[likely]]
    return false;
  if (!is_refusal(rc)) return false;
  if (call.main.kind == FactKind::kCollective) --call.state->collective_count;
  return true;
}
[[gnu::always_inline]] inline void set_bytes(Rec& call, CollBytes bytes) noexcept {
  call.main.bytes = bytes.sent;
  call.main.bytes_received = bytes.received;
}

struct Barrier {
  static constexpr std::string_view kRecordedFields = "communicator, sequence number";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    begin(thread, call, comm);
  }
};
struct Bcast {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*, int count,
                                              Type type, int root, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call,
              reversed(gather_bytes(thread, {*state}, root, false, count, type, count, type)));
  }
};
struct Gather {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              int sendcount, Type sendtype, void*, int recvcount,
                                              Type recvtype, int root, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call, gather_bytes(thread, {*state}, root, is_in_place(sendbuf), sendcount, sendtype,
                                 recvcount, recvtype));
  }
};
struct Gatherv {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              int sendcount, Type sendtype, void*,
                                              const int* recvcounts, const int*, Type recvtype,
                                              int root, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call, gatherv_bytes(thread, {*state}, root, is_in_place(sendbuf), sendcount, sendtype,
                                  recvcounts, recvtype));
  }
};
struct Scatter {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*, int sendcount,
                                              Type sendtype, void* recvbuf, int recvcount,
                                              Type recvtype, int root, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call, reversed(gather_bytes(thread, {*state}, root, is_in_place(recvbuf), recvcount,
                                          recvtype, sendcount, sendtype)));
  }
};
struct Scatterv {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*,
                                              const int* sendcounts, const int*, Type sendtype,
                                              void* recvbuf, int recvcount, Type recvtype, int root,
                                              MPI_Comm comm, MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call, reversed(gatherv_bytes(thread, {*state}, root, is_in_place(recvbuf), recvcount,
                                           recvtype, sendcounts, sendtype)));
  }
};
struct Alltoall {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              int sendcount, Type sendtype, void*, int recvcount,
                                              Type recvtype, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call, alltoall_bytes(thread, {*state}, is_in_place(sendbuf), sendcount, sendtype,
                                   recvcount, recvtype));
  }
};
struct Allgatherv {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              int sendcount, Type sendtype, void*,
                                              const int* recvcounts, const int*, Type recvtype,
                                              MPI_Comm comm, MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call, allgatherv_bytes(thread, {*state}, is_in_place(sendbuf), sendcount, sendtype,
                                     recvcounts, recvtype));
  }
};
struct Alltoallv {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              const int* sendcounts, const int*, Type sendtype,
                                              void*, const int* recvcounts, const int*,
                                              Type recvtype, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call, alltoallv_bytes(thread, {*state}, is_in_place(sendbuf), sendcounts, sendtype,
                                    recvcounts, recvtype));
  }
};
struct Alltoallw {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf,
                                              const int* sendcounts, const int*,
                                              const auto& sendtypes, void*, const int* recvcounts,
                                              const int*, const auto& recvtypes, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call, alltoallw_bytes(thread, {*state}, is_in_place(sendbuf), sendcounts, sendtypes,
                                    recvcounts, recvtypes));
  }
};
struct Reduce {
  static constexpr std::string_view
      kRecordedFields = "communicator, root, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf, void*,
                                              int count, Type type, MPI_Op, int root, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    call.main.peer = shown_root(*state, root);
    set_bytes(call,
              gather_bytes(thread, {*state}, root, is_in_place(sendbuf), count, type, count, type));
  }
};
struct Allreduce {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf, void*,
                                              int count, Type type, MPI_Op, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call,
              alltoall_bytes(thread, {*state}, is_in_place(sendbuf), count, type, count, type));
  }
};
struct ReduceScatter {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf, void*,
                                              const int* recvcounts, Type type, MPI_Op,
                                              MPI_Comm comm, MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call, reduce_scatter_bytes(thread, {*state}, is_in_place(sendbuf), recvcounts, type));
  }
};
struct ReduceScatterBlock {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf, void*,
                                              int recvcount, Type type, MPI_Op, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call,
              reduce_scatter_block_bytes(thread, {*state}, is_in_place(sendbuf), recvcount, type));
  }
};
template <bool kIsExclusive>
struct Scan {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void* sendbuf, void*,
                                              int count, Type type, MPI_Op, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    set_bytes(call,
              scan_bytes(thread, {*state}, kIsExclusive || is_in_place(sendbuf), count, type));
  }
};

/// Whether no rank leaves the blocking collective before all ranks have entered it. Directly after
/// such a collective, the library can exchange messages with all ranks without long waits.
/// Exception: a call without data need not synchronise, except a barrier.
template <class Shape>
inline constexpr bool kWaitsForAll = std::is_same_v<Shape, Barrier> ||
                                     std::is_same_v<Shape, Allreduce> ||
                                     std::is_same_v<Shape, Alltoall>;

template <class Shape>
struct Blocking : Shape {
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc,
                                              Args&&...) noexcept {
    if (take_back_refused(call, rc)) return;
    if constexpr (kWaitsForAll<Shape>) {
      if (call.main.kind != FactKind::kCollective || call.main.sequence < call.state->sync_at)
          [[likely]]
        return;
      const bool has_waited = rc == MPI_SUCCESS &&
                              (std::is_same_v<Shape, Barrier> || call.main.bytes != 0);
      if (has_waited && call.depth == 0) sync_after_collective(thread, call);
    }
  }
};

/// Completes the record of a nonblocking collective, which continues after the call. call.main: the
/// collective. request: the request that the call returned.
[[gnu::always_inline]] inline void started(Thread& thread, Rec& call, int rc,
                                           MPI_Request request) noexcept {
  take_back_refused(call, rc);
  if (call.main.kind == FactKind::kCollective) call.main.kind = FactKind::kCollectiveRequest;
  if (call.is_silent)
    call.main.kind = FactKind::kNone;  // the completion of an unrecorded start is not recorded
  if (rc == MPI_SUCCESS) {
    call.main.request = start_request(thread, request, call.main);
    if (call.main.kind != FactKind::kNone) stage(thread, call.main);
  }
  call.main = {};
}

template <class Shape>
struct Nonblocking : Also<Shape, "request"> {
  template <class... Args>
  [[gnu::always_inline]] static void complete(Thread& thread, Rec& call, int rc,
                                              Args&&... args) noexcept {
    started(thread, call, rc, *last_of(args...));
  }
};

}  // namespace coll

#define MEGASCOPE_COLLECTIVE(blocking, nonblocking, shape)         \
  template <>                                                      \
  struct Semantics<Fn::blocking> : coll::Blocking<coll::shape> {}; \
  template <>                                                      \
  struct Semantics<Fn::nonblocking> : coll::Nonblocking<coll::shape> {};
MEGASCOPE_COLLECTIVE(Barrier, Ibarrier, Barrier)
MEGASCOPE_COLLECTIVE(Bcast, Ibcast, Bcast)
MEGASCOPE_COLLECTIVE(Gather, Igather, Gather)
MEGASCOPE_COLLECTIVE(Gatherv, Igatherv, Gatherv)
MEGASCOPE_COLLECTIVE(Scatter, Iscatter, Scatter)
MEGASCOPE_COLLECTIVE(Scatterv, Iscatterv, Scatterv)
MEGASCOPE_COLLECTIVE(Allgather, Iallgather, Alltoall)
MEGASCOPE_COLLECTIVE(Allgatherv, Iallgatherv, Allgatherv)
MEGASCOPE_COLLECTIVE(Alltoall, Ialltoall, Alltoall)
MEGASCOPE_COLLECTIVE(Alltoallv, Ialltoallv, Alltoallv)
MEGASCOPE_COLLECTIVE(Alltoallw, Ialltoallw, Alltoallw)
MEGASCOPE_COLLECTIVE(Reduce, Ireduce, Reduce)
MEGASCOPE_COLLECTIVE(Allreduce, Iallreduce, Allreduce)
MEGASCOPE_COLLECTIVE(Reduce_scatter, Ireduce_scatter, ReduceScatter)
MEGASCOPE_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, ReduceScatterBlock)
MEGASCOPE_COLLECTIVE(Scan, Iscan, Scan<false>)
MEGASCOPE_COLLECTIVE(Exscan, Iexscan, Scan<true>)
#undef MEGASCOPE_COLLECTIVE

}  // namespace megascope::mpi
