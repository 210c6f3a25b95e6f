#include "mpi_layer/requests.h"

#include "core/record/file_fact.h"
#include "core/record/value_fact.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/twins.h"

#include <new>

namespace megascope::mpi {
namespace {

constexpr std::size_t kInitialSlots = 1024;
constexpr std::size_t kEntriesPerBlock = 64;
constexpr unsigned
    kMostDisplaced = 4;  // operations under one handle whose completion is being looked up
constexpr unsigned kMostSharedLookedAt = 64;

bool is_truncation(int error) noexcept {
  if (error == MPI_SUCCESS) return false;
  int error_class = 0;
  twin<Fn::Error_class>()(error, &error_class);
  return error_class == MPI_ERR_TRUNCATE;
}

}  // namespace

constinit RequestTable g_requests;

void RequestTable::lock_slowly() noexcept {
  while (lock_.test_and_set(std::memory_order_acquire)) {
    while (lock_.test(std::memory_order_relaxed)) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
}

RequestEntry* RequestTable::make_entries() noexcept {
  auto* block = new (std::nothrow) RequestEntry[kEntriesPerBlock];
  if (block == nullptr) return nullptr;
  for (std::size_t i = 0; i + 1 < kEntriesPerBlock; ++i) block[i].next = &block[i + 1];
  return block;
}

RequestEntry* RequestTable::take_entry() noexcept {
  if (free_ == nullptr) [[unlikely]] {
    free_ = make_entries();
    if (free_ == nullptr) return nullptr;
  }
  RequestEntry* entry = free_;
  free_ = entry->next;
  entry->next = nullptr;
  entry->serial = next_serial();
  return entry;
}

void RequestTable::give_back(RequestEntry* entry) noexcept {
  lock();
  forget(entry);
  unlock();
}

void RequestTable::forget(RequestEntry* entry) noexcept {
  entry->start = {};
  entry->is_persistent = false;
  entry->is_active = true;
  entry->is_cancel_requested.store(false, std::memory_order_relaxed);
  entry->next = free_;
  free_ = entry;
}

bool RequestTable::grow() noexcept {
  RequestEntry** const old = slots_;
  const std::size_t old_size = old != nullptr ? mask_ + 1 : 0;
  const std::size_t size = old != nullptr ? old_size * 2 : kInitialSlots;
  auto** const slots = new (std::nothrow) RequestEntry* [size] {};
  if (slots == nullptr) return false;
  slots_ = slots;
  mask_ = size - 1;
  for (std::size_t i = 0; i < old_size; ++i) {
    if (old[i] == nullptr) continue;
    std::size_t at = home_of(old[i]->key);
    while (slots_[at] != nullptr) at = (at + 1) & mask_;
    slots_[at] = old[i];
  }
  delete[] old;
  return true;
}

RequestEntry* RequestTable::insert_shared(RequestEntry* entry) noexcept {
  SharedList& list = shared_list(entry->key);
  (list.last != nullptr ? list.last->next : list.first) = entry;
  list.last = entry;
  return entry;
}

/// A new operation under a handle that is here. kept: how many older ones may stay behind it.
void RequestTable::displace(RequestEntry*& slot, RequestEntry* entry, unsigned kept) noexcept {
  RequestEntry* keep = slot;
  entry->next = keep;
  slot = entry;
  for (; kept > 0 && entry->next != nullptr; --kept) entry = entry->next;
  RequestEntry* dropped = entry->next;
  entry->next = nullptr;
  while (dropped != nullptr) {
    RequestEntry* following = dropped->next;
    forget(dropped);
    dropped = following;
  }
}

RequestEntry* RequestTable::insert(std::uint64_t key, LocationId location,
                                   bool is_nested) noexcept {
  lock();
  const bool has_slots = (slots_ != nullptr && (count_ + 1) * 2 <= mask_) || grow() ||
                         (slots_ != nullptr && count_ < mask_);
  RequestEntry* entry = has_slots ? take_entry() : nullptr;
  if (entry == nullptr) [[unlikely]] {
    unlock();
    if (Recorder* active = recorder()) active->count_loss(LossCause::kNoBuffer);
    return nullptr;
  }
  entry->key = key;
  entry
      ->location = location;  // others look at it as soon as it is in the list of the shared handle
  if (is_shared(key)) {
    insert_shared(entry);
  } else {
    std::size_t at = home_of(key);
    while (slots_[at] != nullptr && slots_[at]->key != key) at = (at + 1) & mask_;
    if (slots_[at] == nullptr) [[likely]] {
      slots_[at] = entry;
      ++count_;
    } else {
      displace(slots_[at], entry, is_nested || is_multithreaded() ? kMostDisplaced : 0);
    }
  }
  unlock();
  return entry;
}

RequestEntry* RequestTable::find_shared(std::uint64_t key, LocationId location) noexcept {
  RequestEntry* const first = shared_list(key).first;
  if (!is_multithreaded()) return first;
  unsigned left = kMostSharedLookedAt;
  for (RequestEntry* entry = first; entry != nullptr && left > 0; entry = entry->next, --left) {
    if (entry->location == location) return entry;
  }
  return first;
}

/// What points to the operation that `key` meant at the horizon; it or what it points to is nullptr
/// when there is none.
RequestEntry** RequestTable::slot_of(std::uint64_t key, Serial horizon) noexcept {
  if (slots_ == nullptr) return nullptr;
  std::size_t at = home_of(key);
  while (slots_[at] != nullptr && slots_[at]->key != key) at = (at + 1) & mask_;
  RequestEntry** link = &slots_[at];
  while (*link != nullptr && static_cast<std::int32_t>((*link)->serial - horizon) > 0)
    link = &(*link)->next;
  return link;
}

RequestEntry* RequestTable::find(std::uint64_t key, Serial horizon, LocationId location) noexcept {
  lock();
  RequestEntry* entry = nullptr;
  if (is_shared(key)) {
    entry = find_shared(key, location);
  } else if (RequestEntry** const link = slot_of(key, horizon)) {
    entry = *link;
  }
  unlock();
  return entry;
}

RequestEntry* RequestTable::take(std::uint64_t key, Serial horizon, LocationId location) noexcept {
  lock();
  RequestEntry* entry = nullptr;
  if (is_shared(key)) {
    entry = find_shared(key, location);
    if (entry != nullptr) unlink_shared(entry);
  } else if (RequestEntry** const link = slot_of(key, horizon)) {
    entry = *link;
    if (entry != nullptr && !entry->is_persistent) unlink(link);
  }
  unlock();
  return entry;
}

/// link: in a slot or in the chain behind it.
void RequestTable::unlink(RequestEntry** link) noexcept {
  RequestEntry* next = (*link)->next;
  *link = next;
  const bool is_slot = link >= slots_ && link <= slots_ + mask_;
  if (next == nullptr && is_slot) close_hole(static_cast<std::size_t>(link - slots_));
}

void RequestTable::unlink_shared(RequestEntry* entry) noexcept {
  RequestEntry* before = nullptr;
  SharedList& list = shared_list(entry->key);
  for (RequestEntry* at = list.first; at != entry; at = at->next) before = at;
  (before != nullptr ? before->next : list.first) = entry->next;
  if (list.last == entry) list.last = before;
}

/// Moves back whatever lies behind the hole and could have lain in it.
void RequestTable::close_hole(std::size_t hole) noexcept {
  for (std::size_t at = (hole + 1) & mask_; slots_[at] != nullptr; at = (at + 1) & mask_) {
    const std::size_t distance_home = (at - home_of(slots_[at]->key)) & mask_;
    if (distance_home < ((at - hole) & mask_)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = nullptr;
  --count_;
}

void RequestTable::erase(RequestEntry* entry) noexcept {
  lock();
  if (is_shared(entry->key)) {
    unlink_shared(entry);
    forget(entry);
  } else {
    RequestEntry** link = slot_of(entry->key, entry->serial);
    if (*link == entry) {  // else displaced by too many others, and forgotten then
      unlink(link);
      forget(entry);
    }
  }
  unlock();
}

void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept {
  RequestEntry* entry = requests().insert(key_of(request));
  if (entry == nullptr) return;
  start.request = entry->serial;
  entry->start = start;
  entry->is_persistent = true;
  entry->is_active = false;
  if (start.kind == FactKind::kNone) return;
  start.kind = FactKind::kPersistentInit;
  stage(thread, start);
}

void start_persistent(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request), requests().horizon(),
                                        thread.buffer->location());
  if (entry == nullptr || !entry->is_persistent) return;
  entry->start.request = requests().new_id();
  entry->is_active = true;
  entry->location = thread.buffer->location();
  if (entry->start.kind != FactKind::kNone) stage(thread, entry->start);
}

namespace {

void stage_receive(MpiThread& thread, const RequestEntry& entry, const MPI_Status* status,
                   bool is_truncated) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kRecvComplete;
  if (status == nullptr) {
    if (Recorder* active = recorder()) active->count_loss(LossCause::kSizeUnknown);
    if (done.peer == kAnySource || done.tag == kAnyTag)
      done = {.kind = FactKind::kRequestFreed, .request = done.request};
  } else {
    done.peer = status->MPI_SOURCE;
    done.tag = status->MPI_TAG;
    done.bytes = is_truncated ? truncated_bytes(*status, done.bytes) : received_bytes(*status);
    if (done.peer == MPI_PROC_NULL) return;
  }
  const bool is_as_posted = done.peer == entry.start.peer && done.tag == entry.start.tag &&
                            done.bytes == entry.start.bytes &&
                            entry.location == thread.buffer->location() &&
                            !thread.buffer->is_lossy();
  if (is_as_posted) {
    stage_short(thread, FactKind::kRecvComplete, done.request);
  } else {
    stage(thread, done);
  }
}

void stage_collective(MpiThread& thread, const RequestEntry& entry) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kCollectiveComplete;
  const bool is_known = entry.location == thread.buffer->location() && !thread.buffer->is_lossy();
  if (is_known) {
    stage_short(thread, FactKind::kCollectiveComplete, done.request);
  } else {
    stage(thread, done);
  }
}

bool is_transfer(FactKind kind) noexcept {
  return kind == FactKind::kFileReadRequest || kind == FactKind::kFileWriteRequest;
}

/// Something happened to the request that says nothing more; of a transfer the file, of a one-sided
/// operation the window.
void stage_event(MpiThread& thread, const Fact& start, FactKind kind) noexcept {
  Fact fact = is_file_fact(kind) ? file_fact(kind, file_of(start), start.comm) : Fact{.kind = kind};
  if (has_rma_request(start.kind)) {
    fact.comm = start.comm;
    fact.tag = start.tag;
  }
  fact.request = start.request;
  stage(thread, fact);
}

}  // namespace

void stage_transferred(MpiThread& thread, const Fact& start, LocationId location,
                       const MPI_Status* status) noexcept {
  Fact done = start;
  done.kind = is_file_write(start.kind) ? FactKind::kFileWriteComplete
                                        : FactKind::kFileReadComplete;
  if (status != nullptr) {
    set_transferred(done, received_bytes(*status));
  } else if (Recorder* active = recorder()) {
    active->count_loss(LossCause::kSizeUnknown);
  }
  const bool is_as_asked = done.bytes_received == 0 && location == thread.buffer->location() &&
                           !thread.buffer->is_lossy();
  if (is_as_asked) {
    stage_short(thread, done.kind, done.request);
  } else {
    stage(thread, done);
  }
}

void complete_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                      const MPI_Status* status, int error) noexcept {
  RequestEntry* entry = requests().take(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || !entry->is_active) return;
  const FactKind kind = entry->start.kind;
  const bool is_message = error == MPI_SUCCESS ||
                          (kind == FactKind::kRecvRequest && is_truncation(error));
  const bool was_cancelled = entry->is_cancel_requested.load(std::memory_order_relaxed) &&
                             status != nullptr && is_cancelled(*status);
  if (kind == FactKind::kNone) {
  } else if (was_cancelled) {
    stage_event(thread, entry->start,
                is_transfer(kind) ? FactKind::kFileCancelled : FactKind::kCancelled);
  } else if (!is_message) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  } else if (kind == FactKind::kSendRequest) {
    stage_short(thread, FactKind::kSendComplete, entry->start.request);
  } else if (kind == FactKind::kRecvRequest) {
    stage_receive(thread, *entry, status, error != MPI_SUCCESS);
  } else if (kind == FactKind::kCollectiveRequest) {
    stage_collective(thread, *entry);
  } else if (is_transfer(kind)) {
    stage_transferred(thread, entry->start, entry->location, status);
  } else if (has_rma_request(kind)) {
    stage_short(thread, FactKind::kRmaComplete, entry->start.request);
  }
  if (entry->is_persistent) {
    entry->is_cancel_requested.store(false, std::memory_order_relaxed);
    entry->is_active = false;
  } else {
    requests().give_back(entry);
  }
}

void note_test(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept {
  const RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || entry->start.kind == FactKind::kNone || !entry->is_active) return;
  stage_event(thread, entry->start,
              is_transfer(entry->start.kind) ? FactKind::kFileTest : FactKind::kRequestTest);
}

void note_ready(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                const MPI_Status& status) noexcept {
  const RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || entry->start.kind == FactKind::kNone || !entry->is_active) {
    stage(thread, value_fact(ValueName::kFlag, 1));
    return;
  }
  Fact fact{.kind = FactKind::kRequestReady, .request = entry->start.request};
  if (entry->start.kind == FactKind::kRecvRequest && !is_cancelled(status) &&
      status.MPI_SOURCE != MPI_PROC_NULL) {
    fact.comm = entry->start.comm;
    fact.peer = status.MPI_SOURCE;
    fact.tag = status.MPI_TAG;
    fact.bytes = received_bytes(status);
  }
  stage(thread, fact);
}

RequestId note_cancel(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request), requests().horizon(),
                                        thread.buffer->location());
  if (entry == nullptr) return kNoRequest;
  entry->is_cancel_requested.store(true, std::memory_order_relaxed);
  return entry->start.kind != FactKind::kNone ? entry->start.request : kNoRequest;
}

void free_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept {
  RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr) return;
  if (entry->is_active && entry->start.kind != FactKind::kNone) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  }
  requests().erase(entry);
}

}  // namespace megascope::mpi
