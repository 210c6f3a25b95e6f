#pragma once

#include "mpi_layer/comms.h"
#include "mpi_layer/intercept.h"
#include "mpi_layer/requests.h"
#include "mpi_layer/types.h"

/// Point-to-point: peer, tag, bytes, request. Peers are ranks in the communicator. MPI-4.1 §3; OTF2
/// MpiSend … MpiIrecv.
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
  if (peer == MPI_PROC_NULL || !is_told(call)) return {};
  return {.kind = kind,
          .comm = call.comm,
          .peer = peer,
          .tag = tag,
          .bytes = payload_bytes(thread, count, type)};
}

/// A status of ours where the application ignores it.
[[gnu::always_inline]] inline void want_status(MpiThread& thread, const CallRecord& call,
                                               MPI_Status*& status) noexcept {
  if (status == MPI_STATUS_IGNORE) status = &thread.status[call.depth];
}

bool is_truncation_error(int rc) noexcept;

/// What a blocking receive got. After an error there is nothing to tell, except of a truncated
/// message.
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

struct Send : NoMeaning {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, const void*,
                                              int count, MPI_Datatype type, int dest, int tag,
                                              MPI_Comm comm) noexcept {
    call.main = message(thread, call, FactKind::kSend, count, type, dest, tag, comm);
  }
};

struct Isend {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
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
struct Meaning<Fn::Send> : p2p::Send {};
template <>
struct Meaning<Fn::Bsend> : p2p::Send {};
template <>
struct Meaning<Fn::Ssend> : p2p::Send {};
template <>
struct Meaning<Fn::Rsend> : p2p::Send {};
template <>
struct Meaning<Fn::Isend> : p2p::Isend {};
template <>
struct Meaning<Fn::Ibsend> : p2p::Isend {};
template <>
struct Meaning<Fn::Issend> : p2p::Isend {};
template <>
struct Meaning<Fn::Irsend> : p2p::Isend {};
template <>
struct Meaning<Fn::Send_init> : p2p::SendInit {};
template <>
struct Meaning<Fn::Bsend_init> : p2p::SendInit {};
template <>
struct Meaning<Fn::Ssend_init> : p2p::SendInit {};
template <>
struct Meaning<Fn::Rsend_init> : p2p::SendInit {};

template <>
struct Meaning<Fn::Recv> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                              MPI_Status*& status) noexcept {
    // With MPI's own numbers: our kAnySource may be its MPI_PROC_NULL.
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
struct Meaning<Fn::Irecv> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                              MPI_Request*) noexcept {
    set_comm(thread, call, comm);
    if (source == MPI_PROC_NULL || !is_told(call)) return;
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
struct Meaning<Fn::Recv_init> : Meaning<Fn::Irecv> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, void*,
                                              int, MPI_Datatype, int, int, MPI_Comm,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) make_persistent(thread, *request, call.main);
    call.main = {};
  }
};

namespace p2p {

/// Of the two halves of a send and receive: what folds when both, one or none are messages. Where
/// the receive was truncated, the send has been sent.
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
                                                 std::uint64_t room, int source, int recvtag,
                                                 MPI_Comm comm) noexcept {
  set_comm(thread, call, comm);
  if (!is_told(call)) return;
  call.main = {.kind = FactKind::kSendrecv,
               .comm = call.comm,
               .peer = dest == MPI_PROC_NULL ? kNoPeer : dest,
               .tag = sendtag,
               .bytes = sent};
  call.second = {.kind = FactKind::kRecv,
                 .comm = call.comm,
                 .peer = source == MPI_PROC_NULL ? kNoPeer : posted_source(source),
                 .tag = posted_tag(recvtag),
                 .bytes = room};
}

}  // namespace p2p

template <>
struct Meaning<Fn::Sendrecv> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, message received";
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
struct Meaning<Fn::Sendrecv_replace> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, message received";
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

// Probes. A matched probe takes a message out of the queue: there, not at the receive, is its place
// in the order.

namespace p2p {

/// Of a probe: what it looks for, for the mark of the call alone. Into the record goes what it
/// found.
[[gnu::always_inline]] inline void look_for(MpiThread& thread, CallRecord& call, int source,
                                            int tag, MPI_Comm comm) noexcept {
  set_comm(thread, call, comm);
  if (source == MPI_PROC_NULL || !is_told(call)) return;
  call.main = {.kind = FactKind::kRecv,
               .comm = call.comm,
               .peer = posted_source(source),
               .tag = posted_tag(tag)};
}

/// The message that a probe found and left in the queue.
inline void found(MpiThread& thread, const CallRecord& call, const MPI_Status& status) noexcept {
  if (status.MPI_SOURCE == MPI_PROC_NULL || !is_told(call)) return;
  stage(thread, {.kind = FactKind::kProbed,
                 .comm = call.comm,
                 .peer = status.MPI_SOURCE,
                 .tag = status.MPI_TAG,
                 .bytes = received_bytes(status)});
}

}  // namespace p2p

template <>
struct Meaning<Fn::Probe> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int source,
                                              int tag, MPI_Comm comm,
                                              MPI_Status*& status) noexcept {
    p2p::look_for(thread, call, source, tag, comm);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int, int,
                                              MPI_Comm, MPI_Status* status) noexcept {
    call.main = {};
    if (rc == MPI_SUCCESS) p2p::found(thread, call, *status);
  }
};
template <>
struct Meaning<Fn::Iprobe> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int source,
                                              int tag, MPI_Comm comm, int*,
                                              MPI_Status*& status) noexcept {
    p2p::look_for(thread, call, source, tag, comm);
    call.run_key = call.comm;
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int, int,
                                              MPI_Comm, int* flag, MPI_Status* status) noexcept {
    call.main = {};
    call.is_fruitless = rc == MPI_SUCCESS && *flag == 0;
    if (rc == MPI_SUCCESS && *flag != 0) p2p::found(thread, call, *status);
  }
};

namespace p2p {

[[gnu::always_inline]] inline void matched(MpiThread& thread, CallRecord& call, MPI_Message message,
                                           const MPI_Status& status) noexcept {
  const bool is_message = message != g_handles.message_null && message != g_handles.message_no_proc;
  if (!is_message || !is_told(call)) return;
  Fact fact{.kind = FactKind::kMatched,
            .comm = call.comm,
            .peer = status.MPI_SOURCE,
            .tag = status.MPI_TAG,
            .bytes = received_bytes(status)};
  RequestEntry* entry = requests().insert(key_of(message));
  if (entry == nullptr) return;
  fact.request = entry->serial;
  entry->start = fact;
  entry->location = thread.buffer->location();
  stage(thread, fact);
}

/// The message that a matched probe took, as a fact of `kind`; kNone when it is not known. The
/// handle is spent.
[[gnu::always_inline]] inline Fact take_matched(MpiThread& thread, CallRecord& call,
                                                MPI_Message message, FactKind kind) noexcept {
  RequestEntry* entry = requests().find(key_of(message), requests().horizon(),
                                        thread.buffer->location());
  if (entry == nullptr || entry->start.kind != FactKind::kMatched) return {};
  Fact fact = entry->start;
  fact.kind = kind;
  call.comm = fact.comm;
  requests().erase(entry);
  return fact;
}

}  // namespace p2p

template <>
struct Meaning<Fn::Mprobe> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int source,
                                              int tag, MPI_Comm comm, MPI_Message*,
                                              MPI_Status*& status) noexcept {
    p2p::look_for(thread, call, source, tag, comm);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int, int,
                                              MPI_Comm, MPI_Message* message,
                                              MPI_Status* status) noexcept {
    call.main = {};
    if (rc == MPI_SUCCESS) p2p::matched(thread, call, *message, *status);
  }
};
template <>
struct Meaning<Fn::Improbe> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int source,
                                              int tag, MPI_Comm comm, int*, MPI_Message*,
                                              MPI_Status*& status) noexcept {
    p2p::look_for(thread, call, source, tag, comm);
    call.run_key = call.comm;
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int, int,
                                              MPI_Comm, int* flag, MPI_Message* message,
                                              MPI_Status* status) noexcept {
    call.main = {};
    call.is_fruitless = rc == MPI_SUCCESS && *flag == 0;
    if (rc == MPI_SUCCESS && *flag != 0) p2p::matched(thread, call, *message, *status);
  }
};
template <>
struct Meaning<Fn::Mrecv> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int,
                                              MPI_Datatype, MPI_Message* message,
                                              MPI_Status*& status) noexcept {
    if (message != nullptr) call.main = p2p::take_matched(thread, call, *message, FactKind::kRecv);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, void*, int,
                                              MPI_Datatype, MPI_Message*,
                                              MPI_Status* status) noexcept {
    if (call.main.kind != FactKind::kNone) p2p::received(call.main, rc, *status);
  }
};
template <>
struct Meaning<Fn::Imrecv> {
  static constexpr std::string_view kTells = "communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, void*, int count,
                                              MPI_Datatype type, MPI_Message* message,
                                              MPI_Request*) noexcept {
    if (message != nullptr)
      call.main = p2p::take_matched(thread, call, *message, FactKind::kRecvRequest);
    if (call.main.kind != FactKind::kNone) call.main.bytes = payload_bytes(thread, count, type);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, void*,
                                              int, MPI_Datatype, MPI_Message*,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) call.main.request = start_request(thread, *request, call.main);
  }
};

template <>
struct Meaning<Fn::Start> : NoMeaning {
  static constexpr std::string_view kTells = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) start_persistent(thread, *request);
  }
};
template <>
struct Meaning<Fn::Startall> : NoMeaning {
  static constexpr std::string_view kTells = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, int count,
                                              const auto& array) noexcept {
    for (int i = 0; rc == MPI_SUCCESS && i < count; ++i)
      start_persistent(thread, array[static_cast<std::size_t>(i)]);
  }
};

}  // namespace megascope::mpi
