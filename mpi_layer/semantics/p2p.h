#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/semantics/send_recv.h"

/// Semantics of probes, of receives of matched messages, and of starts of persistent requests. The
/// other point-to-point calls are in send_recv.h. MPI-4.1 §3.8, §3.9.
namespace megascope::mpi {

// Probes. A matched probe removes a message from the queue: its place in the order is at the probe,
// not at the receive.

namespace p2p {

/// Sets the peer and tag that a probe searches for. They are stored only while the call is pending,
/// in the mark that readers see after a crash or a hang (mark_pending()). The record of the call
/// contains the message that the probe found instead.
[[gnu::always_inline]] inline void look_for(MpiThread& thread, CallRecord& call, int source,
                                            int tag, MPI_Comm comm) noexcept {
  set_comm(thread, call, comm);
  if (source == MPI_PROC_NULL || !is_recorded(call)) return;
  call.main = {.kind = FactKind::kRecv,
               .comm = call.comm,
               .peer = posted_source(source),
               .tag = posted_tag(tag)};
}

/// Records the message that a probe found. A later call receives the message.
inline void found(MpiThread& thread, const CallRecord& call, const MPI_Status& status) noexcept {
  if (status.MPI_SOURCE == MPI_PROC_NULL || !is_recorded(call)) return;
  stage(thread, {.kind = FactKind::kProbed,
                 .comm = call.comm,
                 .peer = status.MPI_SOURCE,
                 .tag = status.MPI_TAG,
                 .bytes = received_bytes(status)});
}

}  // namespace p2p

template <>
struct Semantics<Fn::Probe> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes";
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
struct Semantics<Fn::Iprobe> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes";
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
  if (!is_message || !is_recorded(call)) return;
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

/// Returns the message that a matched probe found, as a fact (one event of the call) of `kind`, and
/// sets call.comm to its communicator. Removes the handle from the request table, because the
/// receive of the message invalidates it. Returns a fact with kind kNone if the table does not have
/// the handle.
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
struct Semantics<Fn::Mprobe> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
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
struct Semantics<Fn::Improbe> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
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
struct Semantics<Fn::Mrecv> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
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
struct Semantics<Fn::Imrecv> {
  static constexpr std::string_view kRecordedFields = "communicator, peer, tag, bytes, request";
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
struct Semantics<Fn::Start> : NoSemantics {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc,
                                              MPI_Request* request) noexcept {
    if (rc == MPI_SUCCESS) start_persistent(thread, *request);
  }
};
template <>
struct Semantics<Fn::Startall> : NoSemantics {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, int count,
                                              const auto& array) noexcept {
    for (int i = 0; rc == MPI_SUCCESS && i < count; ++i)
      start_persistent(thread, array[static_cast<std::size_t>(i)]);
  }
};

}  // namespace megascope::mpi
