#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"

/// Semantics of sends and receives. They record peer, tag, bytes and request. Peers are ranks in
/// the communicator. MPI-4.1 §3; OTF2 MpiSend … MpiIrecv.
namespace megascope::mpi {

namespace p2p {

[[gnu::always_inline]] inline std::int32_t posted_source(int source) {
  return source == MPI_ANY_SOURCE ? kAnySource : source;
}
[[gnu::always_inline]] inline std::int32_t posted_tag(int tag) {
  return tag == MPI_ANY_TAG ? kAnyTag : tag;
}

[[gnu::always_inline]] inline Fact message(MpiThread& thread, CallRecord& call, FactKind kind,
                                           int count, MPI_Datatype type, int peer, int tag,
                                           MPI_Comm comm) noexcept {
  set_comm(thread, call, comm);
  if (peer == MPI_PROC_NULL || !is_recorded(call)) return {};
  return {.kind = kind,
          .comm = call.comm,
          .peer = peer,
          .tag = tag,
          .bytes = payload_bytes(thread, count, type)};
}

/// Replaces an ignored status argument by a status of the library.
[[gnu::always_inline]] inline void want_status(MpiThread& thread, const CallRecord& call,
                                               MPI_Status*& status) noexcept {
  if (status == MPI_STATUS_IGNORE) status = &thread.status[call.depth];
}

bool is_truncation_error(int rc) noexcept;

/// Completes the fact of a blocking receive after the call. After an error the fact is removed,
/// because no message was received. Exception: a truncated message was received.
[[gnu::always_inline]] inline void received(Fact& fact, int rc, const MPI_Status& status) noexcept {
  const bool has_message = rc == MPI_SUCCESS || is_truncation_error(rc);
  if (!has_message || status.MPI_SOURCE == MPI_PROC_NULL) {
    fact.kind = FactKind::kNone;
    return;
  }
  fact.peer = status.MPI_SOURCE;
  fact.tag = status.MPI_TAG;
  fact.bytes = rc == MPI_SUCCESS ? received_bytes(status) : truncated_bytes(status, fact.bytes);
}

struct Send : NoSemantics {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, const void*,
                                              int count, MPI_Datatype type, int dest, int tag,
                                              MPI_Comm comm) noexcept {
    call.main = message(thread, call, FactKind::kSend, count, type, dest, tag, comm);
  }
};

struct Isend {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, const void*,
                                              int count, MPI_Datatype type, int dest, int tag,
                                              MPI_Comm comm, MPI_Request*) noexcept {
    call.main = message(thread, call, FactKind::kSendRequest, count, type, dest, tag, comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              const void*, int, MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) call.main.request = start_request(thread, *request, call.main);
  }
};

struct SendInit : Isend {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              const void*, int, MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) make_persistent(thread, *request, call.main);
    call.main = {};
  }
};

}  // namespace p2p

template <>
struct Semantics<Fn::Send> : p2p::Send {};
template <>
struct Semantics<Fn::Bsend> : p2p::Send {};
template <>
struct Semantics<Fn::Ssend> : p2p::Send {};
template <>
struct Semantics<Fn::Rsend> : p2p::Send {};
template <>
struct Semantics<Fn::Isend> : p2p::Isend {};
template <>
struct Semantics<Fn::Ibsend> : p2p::Isend {};
template <>
struct Semantics<Fn::Issend> : p2p::Isend {};
template <>
struct Semantics<Fn::Irsend> : p2p::Isend {};
template <>
struct Semantics<Fn::Send_init> : p2p::SendInit {};
template <>
struct Semantics<Fn::Bsend_init> : p2p::SendInit {};
template <>
struct Semantics<Fn::Ssend_init> : p2p::SendInit {};
template <>
struct Semantics<Fn::Rsend_init> : p2p::SendInit {};

template <>
struct Semantics<Fn::Recv> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                              MPI_Status*& status) noexcept {
    // Uses MPI's own value of the source: kAnySource may equal its MPI_PROC_NULL.
    call.main = p2p::message(thread, call, FactKind::kRecv, count, type, source,
                             p2p::posted_tag(tag), comm);
    call.main.peer = p2p::posted_source(source);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, void*, int,
                                              MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Status* status) noexcept {
    if (call.main.kind != FactKind::kNone) p2p::received(call.main, rc, *status);
  }
};

template <>
struct Semantics<Fn::Irecv> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                              MPI_Request*) noexcept {
    set_comm(thread, call, comm);
    if (source == MPI_PROC_NULL || !is_recorded(call)) return;
    call.main = {.kind = FactKind::kRecvRequest,
                 .comm = call.comm,
                 .peer = p2p::posted_source(source),
                 .tag = p2p::posted_tag(tag),
                 .bytes = payload_bytes(thread, count, type)};
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, void*,
                                              int, MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) call.main.request = start_request(thread, *request, call.main);
  }
};

template <>
struct Semantics<Fn::Recv_init> : Semantics<Fn::Irecv> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, void*,
                                              int, MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) make_persistent(thread, *request, call.main);
    call.main = {};
  }
};

namespace p2p {

/// Sets the facts of a send-receive after the call. If both halves are messages, the call has a
/// kSendrecv and its receive. If only one half is a message, because the other has MPI_PROC_NULL or
/// failed, the call has the fact of this half. Otherwise the call has no fact. If the receive was
/// truncated, the send counts as done.
[[gnu::always_inline]] inline void join(CallRecord& call, int rc, bool is_sending,
                                        bool is_receiving, const MPI_Status& status) noexcept {
  Fact receive = call.second;
  if (is_receiving) received(receive, rc, status);
  is_receiving = is_receiving && receive.kind != FactKind::kNone;
  is_sending = is_sending && (rc == MPI_SUCCESS || is_receiving);
  if (is_sending && is_receiving) {
    call.second = receive;
  } else if (is_receiving) {
    call.main = receive;
    call.second = {};
  } else {
    call.main.kind = is_sending ? FactKind::kSend : FactKind::kNone;
    call.second = {};
  }
}

[[gnu::always_inline]] inline void describe_both(MpiThread& thread, CallRecord& call,
                                                 std::uint64_t sent, int dest, int sendtag,
                                                 std::uint64_t space, int source, int recvtag,
                                                 MPI_Comm comm) noexcept {
  set_comm(thread, call, comm);
  if (!is_recorded(call)) return;
  call.main = {.kind = FactKind::kSendrecv,
               .comm = call.comm,
               .peer = dest == MPI_PROC_NULL ? kNoPeer : dest,
               .tag = sendtag,
               .bytes = sent};
  call.second = {.kind = FactKind::kRecv,
                 .comm = call.comm,
                 .peer = source == MPI_PROC_NULL ? kNoPeer : posted_source(source),
                 .tag = posted_tag(recvtag),
                 .bytes = space};
}

}  // namespace p2p

template <>
struct Semantics<Fn::Sendrecv> {
  static constexpr std::string_view
      kRecordedFields = "communicator, peer, tag, bytes, message received";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, const void*,
                                              int sendcount, MPI_Datatype sendtype, int dest,
                                              int sendtag, void*, int recvcount,
                                              MPI_Datatype recvtype, int source, int recvtag,
                                              MPI_Comm comm, MPI_Status*& status) noexcept {
    p2p::describe_both(thread, call, payload_bytes(thread, sendcount, sendtype), dest, sendtag,
                       payload_bytes(thread, recvcount, recvtype), source, recvtag, comm);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, const void*,
                                              int, MPI_Datatype, int dest, int, void*, int,
                                              MPI_Datatype, int source, int, MPI_Comm,
                                              MPI_Status* status) noexcept {
    if (call.main.kind == FactKind::kNone) return;
    p2p::join(call, rc, dest != MPI_PROC_NULL, source != MPI_PROC_NULL, *status);
  }
};

template <>
struct Semantics<Fn::Sendrecv_replace> {
  static constexpr std::string_view
      kRecordedFields = "communicator, peer, tag, bytes, message received";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, int dest, int sendtag, int source,
                                              int recvtag, MPI_Comm comm,
                                              MPI_Status*& status) noexcept {
    const std::uint64_t bytes = payload_bytes(thread, count, type);
    p2p::describe_both(thread, call, bytes, dest, sendtag, bytes, source, recvtag, comm);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, void*, int,
                                              MPI_Datatype, int dest, int, int source, int,
                                              MPI_Comm, MPI_Status* status) noexcept {
    if (call.main.kind == FactKind::kNone) return;
    p2p::join(call, rc, dest != MPI_PROC_NULL, source != MPI_PROC_NULL, *status);
  }
};

}  // namespace megascope::mpi
