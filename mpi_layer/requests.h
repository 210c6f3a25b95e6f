#pragma once

#include "core/record/call.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/thread.h"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace megascope::mpi {

/// An operation that has been started, or a persistent request, or a matched message.
struct RequestEntry {
  std::uint64_t key = 0;     ///< the handle
  std::uint32_t serial = 0;  ///< counts entries
  Fact start;  ///< kSendRequest, kRecvRequest, kCollectiveRequest, kFile…Request, kRput …,
               ///< kMatched; kNone: nothing will be told
  LocationId location = 0;  ///< of the thread that started it
  bool is_persistent = false;
  bool is_active = true;  ///< a persistent request between start and completion
  std::atomic<bool> is_cancel_requested{false};
  RequestEntry* next = nullptr;  ///< in the free list; an older operation with the handle; the next
                                 ///< with the shared handle
};

/// From handles to operations, in constant time. Locked only under MPI_THREAD_MULTIPLE. An entry
/// belongs to the thread that may complete the operation; the others only pass it by.
///
/// MPI may give a handle to a new operation, in another thread, before the thread that completed
/// the old one looks it up here. So whoever completes notes before the call how many operations
/// there were (`horizon`), and later ones under the same handle are not meant. MPI may also give
/// one handle to many operations that are complete at once; those are kept in order.
class RequestTable {
 public:
  using Serial = std::uint32_t;

  /// A new entry for a handle, with defaults in it. An old one under the same handle, whose
  /// completion was not seen, is replaced; or kept behind it for a while, under MPI_THREAD_MULTIPLE
  /// or where `is_nested` says that an enclosing call may be about to tell. nullptr: no memory
  /// (counted).
  RequestEntry* insert(std::uint64_t key, LocationId location = 0, bool is_nested = false) noexcept;
  /// The operation that `key` meant when horizon() was taken; of several with the shared handle the
  /// first of the thread, else the first. nullptr: not ours. An entry stays where it is until it is
  /// erased.
  RequestEntry* find(std::uint64_t key, Serial horizon, LocationId location) noexcept;
  /// The same, and the entry is no longer found, unless it is persistent. Given back when it has
  /// been looked at.
  RequestEntry* take(std::uint64_t key, Serial horizon, LocationId location) noexcept;
  void give_back(RequestEntry* entry) noexcept;
  void erase(RequestEntry* entry) noexcept;
  Serial horizon() const noexcept { return last_serial_.load(std::memory_order_relaxed); }

  RequestId new_id() noexcept {
    lock();
    const RequestId id = next_serial();
    unlock();
    return id;
  }

 private:
  static constexpr std::size_t
      kSharedLists = 32;  ///< MPICH has a shared handle for each kind of operation, numbered
  struct SharedList {
    RequestEntry* first = nullptr;
    RequestEntry* last = nullptr;
  };

  RequestEntry* take_entry() noexcept;
  RequestEntry* make_entries() noexcept;
  bool grow() noexcept;
  SharedList& shared_list(std::uint64_t key) noexcept {
    return shared_[distinct_bits(key) % kSharedLists];
  }
  RequestEntry* insert_shared(RequestEntry* entry) noexcept;
  void displace(RequestEntry*& slot, RequestEntry* entry, unsigned kept) noexcept;
  RequestEntry* find_shared(std::uint64_t key, LocationId location) noexcept;
  void unlink_shared(RequestEntry* entry) noexcept;
  void close_hole(std::size_t hole) noexcept;
  RequestEntry** slot_of(std::uint64_t key, Serial horizon) noexcept;
  void unlink(RequestEntry** link) noexcept;
  void forget(RequestEntry* entry) noexcept;
  void lock_slowly() noexcept;

  /// Never 0. Call with the lock.
  Serial next_serial() noexcept {
    const Serial serial = last_serial_.load(std::memory_order_relaxed) + 1;
    const Serial not_none = serial == kNoRequest ? serial + 1 : serial;
    last_serial_.store(not_none, std::memory_order_relaxed);
    return not_none;
  }
  std::size_t home_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(distinct_bits(key) * 0x9E3779B97F4A7C15U >> 20) & mask_;
  }
  void lock() noexcept {
    if (is_multithreaded()) [[unlikely]]
      lock_slowly();
  }
  void unlock() noexcept {
    if (is_multithreaded()) [[unlikely]]
      lock_.clear(std::memory_order_release);
  }

  // Never freed: other threads may be in a call when the process ends.
  RequestEntry** slots_ = nullptr;  ///< open addressing, linear probing
  std::size_t mask_ = 0;            ///< number of slots - 1; a power of two - 1
  std::size_t count_ = 0;
  RequestEntry* free_ = nullptr;
  SharedList shared_[kSharedLists];
  std::atomic<Serial> last_serial_{0};
  std::atomic_flag lock_{};
};

extern constinit RequestTable g_requests;
inline RequestTable& requests() noexcept { return g_requests; }

/// Follows a request that a call has just made; returns the id under which its completion will be
/// told (start.request, if that is set already).
[[gnu::always_inline]] inline RequestId start_request(MpiThread& thread, MPI_Request request,
                                                      const Fact& start) noexcept {
  RequestEntry* entry = requests().insert(key_of(request), thread.buffer->location(),
                                          thread.depth != 0);
  if (entry == nullptr) [[unlikely]]
    return start.request;
  entry->start = detail::copy_of(start);
  if (start.request == kNoRequest) entry->start.request = entry->serial;
  return entry->start.request;
}
/// The same for a persistent request, which is inactive.
void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept;
/// MPI_Start on it.
void start_persistent(MpiThread& thread, MPI_Request request) noexcept;
/// The operation behind the handle (as it was before the call, when the horizon was taken) is
/// complete. status: nullptr when MPI was not asked for one. error: MPI_SUCCESS, or what this
/// operation failed with.
void complete_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                      const MPI_Status* status, int error) noexcept;
/// A transfer between memory and a file has ended well. start: what began it, in `location`.
/// status: as above.
void stage_transferred(MpiThread& thread, const Fact& start, LocationId location,
                       const MPI_Status* status) noexcept;
/// It was tested and goes on.
void note_test(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept;
/// MPI_Request_get_status found it complete; it goes on to be completed.
void note_ready(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                const MPI_Status& status) noexcept;
/// The request's id; kNoRequest: nothing will be told of it.
RequestId note_cancel(MpiThread& thread, MPI_Request request) noexcept;
void free_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept;

}  // namespace megascope::mpi
