#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/recorded_arguments.h"

#include <cstring>

/// Semantics of completion calls. They record the operations that a call completed and the messages
/// that receives got. MPI overwrites the handles, so they are saved before the call. MPI-4.1 §3.7;
/// OTF2 MpiIsendComplete, MpiIrecv.
namespace megascope::mpi {

/// Returns whether MPI rejected the arguments of a completion call, so that it completed no
/// operation and wrote no output argument.
bool is_refused_slow_path(int rc) noexcept;
[[gnu::always_inline]] inline bool is_refused(int rc) noexcept {
  return rc != MPI_SUCCESS && is_refused_slow_path(rc);
}

namespace completion {

/// Sets the number of requests that a completion call waits for or tests. It is stored only while
/// the call is pending, in the mark that readers see after a crash or a hang (mark_pending()).
[[gnu::always_inline]] inline void mark_count(CallRecord& call, int count) noexcept {
  call.main = {.kind = FactKind::kRequestTest, .bytes = static_cast<std::uint32_t>(count)};
}

/// Saves the handle of a call on one request.
[[gnu::always_inline]] inline void save(CallRecord& call, const MPI_Request* request) noexcept {
  call.horizon = requests().horizon();
  call.second.bytes = request != nullptr ? key_of(*request) : 0;
}
[[gnu::always_inline]] inline MPI_Request saved(const CallRecord& call) noexcept {
  return handle_of<MPI_Request>(call.second.bytes);
}

[[gnu::always_inline]] inline void copy_handles(MPI_Request* to, const MPI_Request* from,
                                                std::size_t count) noexcept {
  std::memcpy(to, from, count * sizeof(MPI_Request));
}
template <class Handles>
[[gnu::always_inline]] inline void copy_handles(MPI_Request* to, const Handles& from,
                                                std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

/// Saves an array of handles. array: an object with operator[], for C and Fortran. want_statuses()
/// replaces MPI_STATUSES_IGNORE by statuses of the library.
[[gnu::always_inline]] inline void save(MpiThread& thread, CallRecord& call, int count,
                                        const auto& array) noexcept {
  if (count <= 0 || array == nullptr) return;
  mark_count(call, count);
  call.arrays = claim_arrays(thread, call.depth, count);
  if (call.arrays == nullptr) return;
  call.horizon = requests().horizon();
  copy_handles(call.arrays->requests, array, static_cast<std::size_t>(count));
}
[[gnu::always_inline]] inline void want_statuses(const CallRecord& call,
                                                 MPI_Status*& statuses) noexcept {
  if (statuses == MPI_STATUSES_IGNORE && call.arrays != nullptr) statuses = call.arrays->statuses;
}

/// Returns whether the result of the call means that each operation has its own result in its
/// status.
bool is_in_status_slow_path(int rc) noexcept;
[[gnu::always_inline]] inline bool is_recorded(int rc) noexcept {
  return rc == MPI_SUCCESS || is_in_status_slow_path(rc);
}
/// Returns whether the error code of an operation means that it is not complete.
bool is_pending_slow_path(int error) noexcept;

/// rc: result of the whole call, for which is_recorded(rc) holds.
[[gnu::always_inline]] inline void complete_at(MpiThread& thread, const CallRecord& call, int index,
                                               const MPI_Status* status, int rc) noexcept {
  const int error = rc != MPI_SUCCESS && status != nullptr ? status->MPI_ERROR : rc;
  if (error != MPI_SUCCESS && is_pending_slow_path(error)) return;
  complete_request(thread, call.arrays->requests[index], call.horizon, status, error);
}

[[gnu::always_inline]] inline void complete_all(MpiThread& thread, CallRecord& call, int rc,
                                                int count, const MPI_Status* statuses) noexcept {
  if (call.arrays == nullptr || !is_recorded(rc)) return;
  for (int i = 0; i < count; ++i) {
    complete_at(thread, call, i, statuses != MPI_STATUSES_IGNORE ? statuses + i : nullptr, rc);
  }
}

[[gnu::always_inline]] inline void complete_some(MpiThread& thread, CallRecord& call, int rc,
                                                 int outcount, const int* indices,
                                                 const MPI_Status* statuses) noexcept {
  if (call.arrays == nullptr || outcount == MPI_UNDEFINED || !is_recorded(rc)) return;
  for (int i = 0; i < outcount; ++i) {
    complete_at(thread, call, indices[i] - call.index_base,
                statuses != MPI_STATUSES_IGNORE ? statuses + i : nullptr, rc);
  }
}

/// index: output of the call; MPI_UNDEFINED if it completed no operation. Not used if MPI rejected
/// the arguments.
[[gnu::always_inline]] inline void complete_any(MpiThread& thread, CallRecord& call, int rc,
                                                int index, const MPI_Status* status) noexcept {
  if (call.arrays != nullptr && index != MPI_UNDEFINED && index >= call.index_base) {
    complete_request(thread, call.arrays->requests[index - call.index_base], call.horizon, status,
                     rc);
  }
}

}  // namespace completion

template <>
struct Semantics<Fn::Wait> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_Request* request, MPI_Status*& status) noexcept {
    completion::mark_count(call, 1);
    completion::save(call, request);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Request*, MPI_Status* status) noexcept {
    if (!is_refused(rc))
      complete_request(thread, completion::saved(call), call.horizon, status, rc);
    call.main = {};
    call.second = {};
  }
};
template <>
struct Semantics<Fn::Test> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_Request* request, int*,
                                              MPI_Status*& status) noexcept {
    completion::mark_count(call, 1);
    completion::save(call, request);
    call.run_key = call.second.bytes;
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Request*, int* flag,
                                              MPI_Status* status) noexcept {
    const MPI_Request request = completion::saved(call);
    call.main = {};
    call.second = {};
    if (is_refused(rc)) return;
    if (rc != MPI_SUCCESS || *flag != 0) {
      complete_request(thread, request, call.horizon, status, rc);
    } else {
      call.is_fruitless = true;
      if (!call.continues_run) note_test(thread, request, call.horizon);
    }
  }
};
template <>
struct Semantics<Fn::Waitall> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int count,
                                              const auto& array, MPI_Status*& statuses) noexcept {
    completion::save(thread, call, count, array);
    completion::want_statuses(call, statuses);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              int count, const auto&,
                                              MPI_Status* statuses) noexcept {
    call.main = {};
    completion::complete_all(thread, call, rc, count, statuses);
  }
};
template <>
struct Semantics<Fn::Testall> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int count,
                                              const auto& array, int*,
                                              MPI_Status*& statuses) noexcept {
    completion::save(thread, call, count, array);
    completion::want_statuses(call, statuses);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              int count, const auto&, int* flag,
                                              MPI_Status* statuses) noexcept {
    call.main = {};
    call.is_fruitless = rc == MPI_SUCCESS && *flag == 0;
    completion::complete_all(thread, call, rc, rc == MPI_SUCCESS && *flag == 0 ? 0 : count,
                             statuses);
  }
};
template <>
struct Semantics<Fn::Waitany> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int count,
                                              const auto& array, int*,
                                              MPI_Status*& status) noexcept {
    completion::save(thread, call, count, array);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int,
                                              const auto&, int* index,
                                              MPI_Status* status) noexcept {
    call.main = {};
    completion::complete_any(thread, call, rc, is_refused(rc) ? MPI_UNDEFINED : *index, status);
  }
};
template <>
struct Semantics<Fn::Testany> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int count,
                                              const auto& array, int*, int*,
                                              MPI_Status*& status) noexcept {
    completion::save(thread, call, count, array);
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int,
                                              const auto&, int* index, int* flag,
                                              MPI_Status* status) noexcept {
    call.main = {};
    call.is_fruitless = rc == MPI_SUCCESS && *flag == 0;
    completion::complete_any(thread, call, rc,
                             !is_refused(rc) && *flag != 0 ? *index : MPI_UNDEFINED, status);
  }
};
template <>
struct Semantics<Fn::Waitsome> {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int count,
                                              const auto& array, int*, int*,
                                              MPI_Status*& statuses) noexcept {
    completion::save(thread, call, count, array);
    completion::want_statuses(call, statuses);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, int,
                                              const auto&, int* outcount, int* indices,
                                              MPI_Status* statuses) noexcept {
    call.main = {};
    completion::complete_some(thread, call, rc, is_refused(rc) ? 0 : *outcount, indices, statuses);
  }
};
template <>
struct Semantics<Fn::Testsome> : Semantics<Fn::Waitsome> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              int count, const auto& array, int* outcount,
                                              int* indices, MPI_Status* statuses) noexcept {
    call.is_fruitless = rc == MPI_SUCCESS && *outcount == 0;
    Semantics<Fn::Waitsome>::complete(thread, call, rc, count, array, outcount, indices, statuses);
  }
};
template <>
struct Semantics<Fn::Request_get_status> : NoSemantics {
  static constexpr std::string_view
      kRecordedFields = "message communicator, peer, tag, bytes, request, flag";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_Request request, int*,
                                              MPI_Status*& status) noexcept {
    call.run_key = key_of(request);
    call.horizon = requests().horizon();
    p2p::want_status(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Request request, int* flag,
                                              MPI_Status* status) noexcept {
    if (rc != MPI_SUCCESS) return;
    call.is_fruitless = *flag == 0;
    if (*flag != 0)
      note_ready(thread, request, call.horizon, *status);
    else if (!call.continues_run)
      note_test(thread, request, call.horizon);
  }
};

template <>
struct Semantics<Fn::Cancel> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_Request* request) noexcept {
    if (request != nullptr) call.horizon = note_cancel(thread, *request);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Request*) noexcept {
    if (rc == MPI_SUCCESS && call.horizon != kNoRequest)
      stage(thread, {.kind = FactKind::kCancelRequested, .request = call.horizon});
  }
};
template <>
struct Semantics<Fn::Test_cancelled> : Records<NoSemantics, RecordedArgument{1, ValueName::kFlag}> {
};
template <>
struct Semantics<Fn::Request_free> {
  static constexpr std::string_view kRecordedFields = "request";
  [[gnu::always_inline]] static void describe(MpiThread&, CallRecord& call,
                                              MPI_Request* request) noexcept {
    completion::save(call, request);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Request*) noexcept {
    if (rc == MPI_SUCCESS) free_request(thread, completion::saved(call), call.horizon);
    call.second = {};
  }
};

}  // namespace megascope::mpi
