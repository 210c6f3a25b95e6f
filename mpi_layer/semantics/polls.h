#pragma once

#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/request.h"

#include <cstring>

/// Untimed calls of tests and probes (coalesced_polls.h). Most of them find nothing, and nothing is
/// recorded of those but their number; these functions therefore do only what a call that finds
/// something needs. Untimed calls have depth 0.
namespace megascope::mpi {

namespace polls {

[[gnu::always_inline]] inline void want_status(MpiThread& thread, MPI_Status*& status) noexcept {
  if (status == MPI_STATUS_IGNORE) status = &thread.status[0];
}

/// Copies handles; without a call of memcpy() if there are few. count > 0.
[[gnu::always_inline]] inline void copy_few(MPI_Request* to, const MPI_Request* from,
                                            std::size_t count) noexcept {
  if (count <= 2) {
    const MPI_Request first = from[0];
    to[count - 1] = from[count - 1];
    to[0] = first;
  } else {
    completion::copy_handles(to, from, count);
  }
}

/// One request, passed by address.
struct OneRequest {
  static void identify(CallRecord& call, const MPI_Request* request, const auto&...) noexcept {
    call.poll_key = request != nullptr ? key_of(*request) : 0;
  }
  [[gnu::always_inline]] static bool continues(const MpiThread::Run& run,
                                               const MPI_Request* request,
                                               const auto&...) noexcept {
    return request != nullptr && key_of(*request) == run.poll_key;
  }
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, MPI_Request*, int*,
                                                             MPI_Status*& status) noexcept {
    want_status(thread, status);
    return requests().horizon();
  }
  [[gnu::always_inline]] static bool has_found(int rc, MPI_Request*, const int* flag,
                                               MPI_Status*) noexcept {
    return rc != MPI_SUCCESS || *flag != 0;
  }
  static void restore(MpiThread& thread, CallRecord& call, RequestTable::Serial horizon,
                      const auto&...) noexcept {
    call.horizon = horizon;
    call.poll_key = call.run_key = call.second.bytes = thread.run.poll_key;
  }
};

/// An array of requests.
struct RequestArray {
  static void identify(CallRecord& call, int count, const auto&...) noexcept {
    call.poll_key = call.arrays != nullptr ? static_cast<std::uint64_t>(count) : 0;
  }
  [[gnu::always_inline]] static bool continues(const MpiThread::Run& run, int count,
                                               const MPI_Request* array, const auto&...) noexcept {
    return array != nullptr && static_cast<std::uint64_t>(count) == run.poll_key;
  }
  [[gnu::always_inline]] static RequestTable::Serial save(MpiThread& thread, int count,
                                                          const MPI_Request* array) noexcept {
    copy_few(thread.arrays[0].requests, array, static_cast<std::size_t>(count));
    return requests().horizon();
  }
  [[gnu::always_inline]] static void want_statuses(MpiThread& thread,
                                                   MPI_Status*& statuses) noexcept {
    if (statuses == MPI_STATUSES_IGNORE) statuses = thread.arrays[0].statuses;
  }
  static void restore(MpiThread& thread, CallRecord& call, RequestTable::Serial horizon,
                      const auto&...) noexcept {
    call.horizon = horizon;
    call.arrays = &thread.arrays[0];
    call.poll_key = thread.run.poll_key;
  }
};

/// A search for a message. `flag` is the argument after the communicator.
struct Search {
  static constexpr std::uint64_t words(int source, int tag) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 |
           static_cast<std::uint32_t>(tag);
  }
  static void identify(CallRecord& call, int source, int tag, MPI_Comm comm,
                       const auto&...) noexcept {
    call.poll_key = key_of(comm);
    call.probed = words(source, tag);
  }
  [[gnu::always_inline]] static bool continues(const MpiThread::Run& run, int source, int tag,
                                               MPI_Comm comm, const auto&...) noexcept {
    return key_of(comm) == run.poll_key && words(source, tag) == run.probed;
  }
  template <class... Rest>
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, int, int, MPI_Comm,
                                                             Rest&... rest) noexcept {
    want_status(thread, last_of(rest...));
    return 0;
  }
  [[gnu::always_inline]] static bool has_found(int rc, int, int, MPI_Comm, const int* flag,
                                               const auto&...) noexcept {
    return rc != MPI_SUCCESS || *flag != 0;
  }
  static void restore(MpiThread& thread, CallRecord& call, RequestTable::Serial, int source,
                      int tag, MPI_Comm comm, const auto&...) noexcept {
    p2p::look_for(thread, call, source, tag, comm);
    call.run_key = call.comm;
    identify(call, source, tag, comm);
  }
};

}  // namespace polls

template <>
struct Polling<Fn::Test> : polls::OneRequest {};
template <>
struct Polling<Fn::Request_get_status> {
  static void identify(CallRecord& call, MPI_Request request, const auto&...) noexcept {
    call.poll_key = key_of(request);
  }
  [[gnu::always_inline]] static bool continues(const MpiThread::Run& run, MPI_Request request,
                                               const auto&...) noexcept {
    return key_of(request) == run.poll_key;
  }
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, MPI_Request, int*,
                                                             MPI_Status*& status) noexcept {
    polls::want_status(thread, status);
    return requests().horizon();
  }
  [[gnu::always_inline]] static bool has_found(int rc, MPI_Request, const int* flag,
                                               MPI_Status*) noexcept {
    return rc != MPI_SUCCESS || *flag != 0;
  }
  static void restore(MpiThread&, CallRecord& call, RequestTable::Serial horizon,
                      MPI_Request request, const auto&...) noexcept {
    call.horizon = horizon;
    call.poll_key = call.run_key = key_of(request);
  }
};
template <>
struct Polling<Fn::Testany> : polls::RequestArray {
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, int count,
                                                             MPI_Request* array, int*, int*,
                                                             MPI_Status*& status) noexcept {
    polls::want_status(thread, status);
    return save(thread, count, array);
  }
  [[gnu::always_inline]] static bool has_found(int rc, int, MPI_Request*, int*, const int* flag,
                                               MPI_Status*) noexcept {
    return rc != MPI_SUCCESS || *flag != 0;
  }
};
template <>
struct Polling<Fn::Testall> : polls::RequestArray {
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, int count,
                                                             MPI_Request* array, int*,
                                                             MPI_Status*& statuses) noexcept {
    want_statuses(thread, statuses);
    return save(thread, count, array);
  }
  [[gnu::always_inline]] static bool has_found(int rc, int, MPI_Request*, const int* flag,
                                               MPI_Status*) noexcept {
    return rc != MPI_SUCCESS || *flag != 0;
  }
};
template <>
struct Polling<Fn::Testsome> : polls::RequestArray {
  [[gnu::always_inline]] static RequestTable::Serial prepare(MpiThread& thread, int count,
                                                             MPI_Request* array, int*, int*,
                                                             MPI_Status*& statuses) noexcept {
    want_statuses(thread, statuses);
    return save(thread, count, array);
  }
  [[gnu::always_inline]] static bool has_found(int rc, int, MPI_Request*, const int* outcount, int*,
                                               MPI_Status*) noexcept {
    return rc != MPI_SUCCESS || *outcount != 0;
  }
};
template <>
struct Polling<Fn::Iprobe> : polls::Search {};
template <>
struct Polling<Fn::Improbe> : polls::Search {};

}  // namespace megascope::mpi
