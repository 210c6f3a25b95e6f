#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/record/call.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
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

  RequestId new_id() noexcept {
    lock();
    if (++last_id_ == kNoRequest) ++last_id_;
    const RequestId id = last_id_;
    unlock();
    return id;
  }

 private:
  RequestEntry* take_entry();
  void grow();
  void lock_slowly() noexcept;

  std::size_t home_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key >> 4) * 0x9E3779B97F4A7C15U >> 20) & mask_;
  }
  void lock() noexcept {
    if (is_multithreaded()) [[unlikely]] lock_slowly();
  }
  void unlock() noexcept {
    if (is_multithreaded()) [[unlikely]] lock_.clear(std::memory_order_release);
  }

  // Never freed: other threads may be in a call when the process ends.
  RequestEntry** slots_ = nullptr;  ///< open addressing, linear probing
  std::size_t mask_ = 0;            ///< number of slots - 1; a power of two - 1
  std::size_t count_ = 0;
  RequestEntry* free_ = nullptr;
  RequestEntry* shared_first_ = nullptr;
  RequestEntry* shared_last_ = nullptr;
  std::uint32_t last_id_ = 0;
  std::atomic_flag lock_{};
};

extern constinit RequestTable g_requests;
inline RequestTable& requests() noexcept { return g_requests; }

/// Follows a request that a call has just made; returns the id under which its completion will be told (start.request,
/// if that is set already).
[[gnu::always_inline]] inline RequestId start_request(MpiThread& thread, MPI_Request request,
                                                      const Fact& start) noexcept {
  RequestEntry* entry = requests().insert(key_of(request));
  entry->start = detail::copy_of(start);
  if (start.request == kNoRequest) entry->start.request = requests().new_id();
  entry->location = thread.buffer->location();
  return entry->start.request;
}
/// The same for a persistent request, which is inactive.
void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept;
/// MPI_Start on it.
void start_persistent(MpiThread& thread, MPI_Request request) noexcept;
/// The operation behind the handle (as it was before the call) is complete. status: nullptr when MPI was not asked for
/// one. error: MPI_SUCCESS, or what this operation failed with.
void complete_request(MpiThread& thread, MPI_Request request, const MPI_Status* status, int error) noexcept;
void free_request(MpiThread& thread, MPI_Request request) noexcept;

}  // namespace megascope::mpi
