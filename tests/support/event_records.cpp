#include "tests/support/event_records.h"

namespace megascope::test {
namespace {

Fact message(FactKind kind, std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return {.kind = kind, .comm = comm, .peer = peer, .tag = tag, .bytes = bytes};
}

}  // namespace

Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return message(FactKind::kSend, peer, tag, bytes, comm);
}
Fact recv(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return message(FactKind::kRecv, peer, tag, bytes, comm);
}
Fact send_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
                  CommId comm) {
  return with_request(FactKind::kSendRequest, request, send(peer, tag, bytes, comm));
}
Fact recv_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
                  CommId comm) {
  return with_request(FactKind::kRecvRequest, request, recv(peer, tag, bytes, comm));
}
Fact send_complete(RequestId request) { return of_request(FactKind::kSendComplete, request); }
Fact recv_complete(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
                   CommId comm) {
  return with_request(FactKind::kRecvComplete, request, recv(peer, tag, bytes, comm));
}

Fact request_test(std::uint32_t request_count) {
  return {.kind = FactKind::kRequestTest, .bytes = request_count};
}
Fact of_request(FactKind kind, RequestId request) { return {.kind = kind, .request = request}; }
Fact with_request(FactKind kind, RequestId request, Fact fact) {
  fact.kind = kind;
  fact.request = request;
  return fact;
}

Fact collective(std::uint32_t sequence, std::int32_t root, std::uint64_t bytes_sent,
                std::uint64_t bytes_received, CommId comm) {
  return {.kind = FactKind::kCollective,
          .comm = comm,
          .sequence = sequence,
          .peer = root,
          .bytes = bytes_sent,
          .bytes_received = bytes_received};
}
Fact comm_created(CommId comm) { return {.kind = FactKind::kCommCreated, .comm = comm}; }
Fact comm_freed(CommId comm) { return {.kind = FactKind::kCommFreed, .comm = comm}; }

Fact one_sided(FactKind kind, WinId window, std::int32_t peer, std::uint64_t bytes,
               RequestId request, std::uint32_t sequence) {
  return {.kind = kind,
          .comm = kWorld,
          .request = request,
          .sequence = sequence,
          .peer = peer,
          .tag = window_field(window),
          .bytes = bytes};
}

}  // namespace megascope::test
