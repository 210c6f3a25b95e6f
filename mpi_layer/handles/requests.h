#pragma once

#include "core/record/call.h"
#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/lookup/abi.h"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace megascope::mpi {

/// A started operation, a persistent request, or a matched message.
struct RequestEntry {
  std::uint64_t key = 0;     ///< the handle
  std::uint32_t serial = 0;  ///< number of the entry
  Fact start;  ///< the fact that started the operation (kSendRequest, kRput and similar), or
               ///< kMatched. kNone: the completion is not recorded
  LocationId location = 0;  ///< thread that started it
  bool is_persistent = false;
  bool is_active = true;  ///< persistent request: between start and completion
  std::atomic<bool> is_cancel_requested{false};
  RequestEntry* next = nullptr;  ///< next entry in the free list, an older operation of the same
                                 ///< handle, or the next operation with the same shared handle
};

/// Hash table from handles to operations. Constant time. Locked only under MPI_THREAD_MULTIPLE.
/// Only the thread that completes the operation uses the content of an entry; other threads only
/// follow its links.
///
/// MPI may assign a handle to a new operation in another thread before the thread that completed
/// the old one looks it up here. Therefore a completion call notes the number of operations before
/// the call (`horizon`), and later operations of the same handle are not found. MPI may also give
/// one handle to many operations that are complete at once; those are kept in order.
class RequestTable {
 public:
  using Serial = std::uint32_t;

  /// Inserts an entry for a handle, with default values. An older entry of the handle, whose
  /// completion was not recorded, is replaced; it is kept for a while under MPI_THREAD_MULTIPLE, or
  /// if `is_nested` (an enclosing call may be about to complete it). nullptr: memory ran out
  /// (counted).
  RequestEntry* insert(std::uint64_t key, LocationId location = 0, bool is_nested = false) noexcept;
  /// Returns the operation that had the handle `key` when horizon() returned `horizon`. If MPI
  /// shares the handle among completed operations, returns the first operation that the thread
  /// `location` started; if there is none, the first of any thread. Returns nullptr if the handle
  /// is unknown. An entry stays valid until it is erased.
  RequestEntry* find(std::uint64_t key, Serial horizon, LocationId location) noexcept;
  /// Returns what find() returns, and removes the entry from the table unless it is persistent. The
  /// caller calls give_back() after use.
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
  static constexpr std::size_t kSharedLists = 32;  ///< MPICH has one shared handle for each kind of
                                                   ///< operation; the handles are numbered
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
  void lock_slow_path() noexcept;

  /// Returns the next number, never 0. Call with the lock held.
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
      lock_slow_path();
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

/// Tracks a request that a call has just created. Returns the identifier for its completion:
/// start.request if that is set, else a new one. If memory runs out, the request is not tracked
/// (counted) and start.request is returned.
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
/// Tracks a persistent request that a call has just created; it is inactive until
/// start_persistent(). start: the fact to record at each start; kNone: only track the handle.
/// Records the creation as kPersistentInit. If memory runs out, the request is not tracked
/// (counted).
void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept;
/// Records MPI_Start of a persistent request. Does nothing for a request that is not tracked.
void start_persistent(MpiThread& thread, MPI_Request request) noexcept;
/// Records the completion of the operation that find() returns for the handle and the horizon.
/// status: nullptr if MPI returned no status. error: MPI_SUCCESS, or the error of this operation.
void complete_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                      const MPI_Status* status, int error) noexcept;
/// Records a completed file transfer. start: the fact that started the transfer, recorded in
/// `location`. status: nullptr if MPI returned no status.
void stage_transferred(MpiThread& thread, const Fact& start, LocationId location,
                       const MPI_Status* status) noexcept;
/// Records that the request was tested and is not complete.
void note_test(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept;
/// Records that MPI_Request_get_status found the request complete; it is still active.
void note_ready(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                const MPI_Status& status) noexcept;
/// Notes that cancellation of the request was requested; call before PMPI_Cancel. Returns the
/// request's identifier; kNoRequest if the request is not tracked, so that no completion will be
/// recorded.
RequestId note_cancel(MpiThread& thread, MPI_Request request) noexcept;
void free_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept;

}  // namespace megascope::mpi
