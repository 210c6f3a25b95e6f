#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/record/call.h"
#include "mpi_layer/thread.h"

namespace megascope::mpi {

/// An operation that has been started, or a persistent request, or a matched message.
struct RequestEntry {
  std::uint64_t key = 0;       ///< the handle
  Fact start;                  ///< kSendRequest, kRecvRequest, kCollectiveRequest, kMatched; kNone: nothing will be told
  LocationId location = 0;     ///< of the thread that started it
  bool is_persistent = false;
  bool is_active = true;       ///< a persistent request between start and completion
  bool is_cancel_requested = false;
  RequestEntry* next = nullptr;  ///< in the free list, or the next operation with the shared handle
};

/// From handles to operations, in constant time. Locked only under MPI_THREAD_MULTIPLE.
/// MPI may give one handle to many operations that are complete at once; those are kept in order.
class RequestTable {
 public:
  /// A new entry for a handle; an old one under the same handle, whose completion was not seen, is replaced.
  /// nullptr: no memory (counted).
  RequestEntry* insert(std::uint64_t key) noexcept;
  /// nullptr: not ours. An entry stays where it is until it is erased.
  RequestEntry* find(std::uint64_t key) noexcept;
  void erase(RequestEntry* entry) noexcept;

  RequestId new_id() noexcept;

 private:
  RequestEntry* take_entry();
  void grow();
  std::size_t home_of(std::uint64_t key) const noexcept;
  void lock() noexcept;
  void unlock() noexcept;

  std::vector<RequestEntry*> slots_;  ///< open addressing, linear probing; size is a power of two
  std::size_t count_ = 0;
  std::deque<RequestEntry> entries_;
  RequestEntry* free_ = nullptr;
  RequestEntry* shared_first_ = nullptr;
  RequestEntry* shared_last_ = nullptr;
  std::uint32_t last_id_ = 0;
  std::atomic_flag lock_;
};

RequestTable& requests() noexcept;

/// Follows a request that a call has just made. start.request is set here.
void start_request(MpiThread& thread, MPI_Request request, Fact& start) noexcept;
/// The same for a persistent request, which is inactive.
void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept;
/// MPI_Start on it.
void start_persistent(MpiThread& thread, MPI_Request request) noexcept;
/// The operation behind the handle (as it was before the call) is complete. status: nullptr when MPI was not asked for
/// one. error: MPI_SUCCESS, or what this operation failed with.
void complete_request(MpiThread& thread, MPI_Request request, const MPI_Status* status, int error) noexcept;
void free_request(MpiThread& thread, MPI_Request request) noexcept;

}  // namespace megascope::mpi
