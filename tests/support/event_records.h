#pragma once

#include "core/record/call.h"

#include <cstdint>

/// Facts for runs made by hand, one function a kind with the name of its FactKind. Facts about
/// files and values: core/record/file_fact.h, core/record/value_fact.h.
namespace megascope::test {

/// CommIds that every SampleProcess defines.
inline constexpr CommId kWorld = 0;
inline constexpr CommId kSelf = 1;

// Messages.
Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8, CommId comm = kWorld);
Fact recv(std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8, CommId comm = kWorld);
Fact send_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8,
                  CommId comm = kWorld);
Fact recv_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8,
                  CommId comm = kWorld);
Fact send_complete(RequestId request);
Fact recv_complete(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes = 8,
                   CommId comm = kWorld);

// Requests.
/// Posted by a call that waits for this number of requests.
Fact request_test(std::uint32_t request_count);
/// A kind with no field but the request: kRequestTest, kRequestFreed, kCancelled, kRmaComplete.
Fact of_request(FactKind kind, RequestId request);
/// `fact` as another kind, with a request: the start or completion of a nonblocking collective.
Fact with_request(FactKind kind, RequestId request, Fact fact);

// Collectives and communicators.
Fact collective(std::uint32_t sequence, std::int32_t root = kNoPeer, std::uint64_t bytes_sent = 8,
                std::uint64_t bytes_received = 8, CommId comm = kWorld);
Fact comm_created(CommId comm);
Fact comm_freed(CommId comm);

/// One-sided communication on the window with this WinId, of the world.
Fact one_sided(FactKind kind, WinId window, std::int32_t peer = kNoPeer, std::uint64_t bytes = 0,
               RequestId request = kNoRequest, std::uint32_t sequence = 0);

}  // namespace megascope::test
