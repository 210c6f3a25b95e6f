#include "mpi_layer/requests.h"

#include "mpi_layer/abi.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

constexpr std::size_t kInitialSlots = 1024;
constexpr std::size_t kEntriesPerBlock = 64;

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

RequestEntry* RequestTable::take_entry() {
  if (free_ == nullptr) {
    auto* block = new RequestEntry[kEntriesPerBlock];
    for (std::size_t i = 0; i < kEntriesPerBlock; ++i) {
      block[i].next = free_;
      free_ = &block[i];
    }
  }
  RequestEntry* entry = free_;
  free_ = entry->next;
  *entry = RequestEntry{};
  return entry;
}

void RequestTable::grow() {
  RequestEntry** const old = slots_;
  const std::size_t old_size = old != nullptr ? mask_ + 1 : 0;
  const std::size_t size = old != nullptr ? old_size * 2 : kInitialSlots;
  slots_ = new RequestEntry* [size] {};
  mask_ = size - 1;
  for (std::size_t i = 0; i < old_size; ++i) {
    if (old[i] == nullptr) continue;
    std::size_t at = home_of(old[i]->key);
    while (slots_[at] != nullptr) at = (at + 1) & mask_;
    slots_[at] = old[i];
  }
  delete[] old;
}

RequestEntry* RequestTable::insert(std::uint64_t key) noexcept {
  lock();
  if (slots_ == nullptr || (count_ + 1) * 2 > mask_) grow();
  RequestEntry* entry = nullptr;
  if (key == key_of(g_handles.request_shared)) {
    entry = take_entry();
    (shared_last_ != nullptr ? shared_last_->next : shared_first_) = entry;
    shared_last_ = entry;
  } else {
    std::size_t at = home_of(key);
    while (slots_[at] != nullptr && slots_[at]->key != key) at = (at + 1) & mask_;
    if (slots_[at] == nullptr) {
      slots_[at] = take_entry();
      ++count_;
    } else {
      *slots_[at] = RequestEntry{};
    }
    entry = slots_[at];
  }
  entry->key = key;
  unlock();
  return entry;
}

RequestEntry* RequestTable::find(std::uint64_t key) noexcept {
  lock();
  RequestEntry* entry = nullptr;
  if (key == key_of(g_handles.request_shared)) {
    entry = shared_first_;
  } else if (slots_ != nullptr) {
    std::size_t at = home_of(key);
    while (slots_[at] != nullptr && slots_[at]->key != key) at = (at + 1) & mask_;
    entry = slots_[at];
  }
  unlock();
  return entry;
}

void RequestTable::erase(RequestEntry* entry) noexcept {
  lock();
  if (entry == shared_first_) {
    shared_first_ = entry->next;
    if (shared_first_ == nullptr) shared_last_ = nullptr;
  } else {
    const std::size_t mask = mask_;
    std::size_t hole = home_of(entry->key);
    while (slots_[hole] != entry) hole = (hole + 1) & mask;
    // Close the hole: move back whatever lies behind it and could have lain in it.
    for (std::size_t at = (hole + 1) & mask; slots_[at] != nullptr; at = (at + 1) & mask) {
      const std::size_t distance_home = (at - home_of(slots_[at]->key)) & mask;
      if (distance_home < ((at - hole) & mask)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = nullptr;
    --count_;
  }
  entry->next = free_;
  free_ = entry;
  unlock();
}

void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept {
  start.request = requests().new_id();
  RequestEntry* entry = requests().insert(key_of(request));
  entry->start = start;
  entry->is_persistent = true;
  entry->is_active = false;
  if (start.kind == FactKind::kNone) return;
  start.kind = FactKind::kPersistentInit;
  stage(thread, start);
}

void start_persistent(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request));
  if (entry == nullptr || !entry->is_persistent) return;
  entry->start.request = requests().new_id();
  entry->is_active = true;
  entry->location = thread.buffer->location();
  if (entry->start.kind != FactKind::kNone) stage(thread, entry->start);
}

namespace {

void stage_receive(MpiThread& thread, const RequestEntry& entry, const MPI_Status* status) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kRecvComplete;
  if (status == nullptr) {
    if (Recorder* active = recorder()) active->count_loss(LossCause::kSizeUnknown);
    if (done.peer == kAnySource || done.tag == kAnyTag) done = {.kind = FactKind::kRequestFreed, .request = done.request};
  } else {
    done.peer = status->MPI_SOURCE;
    done.tag = status->MPI_TAG;
    done.bytes = received_bytes(*status);
    if (done.peer == MPI_PROC_NULL) return;
  }
  const bool is_as_posted = done.peer == entry.start.peer && done.tag == entry.start.tag &&
                            done.bytes == entry.start.bytes && entry.location == thread.buffer->location() &&
                            !thread.buffer->is_lossy();
  if (is_as_posted) done = {.kind = FactKind::kRecvComplete, .request = done.request};
  stage(thread, done);
}

void stage_collective(MpiThread& thread, const RequestEntry& entry) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kCollectiveComplete;
  const bool is_known = entry.location == thread.buffer->location() && !thread.buffer->is_lossy();
  if (is_known) done = {.kind = FactKind::kCollectiveComplete, .request = done.request};
  stage(thread, done);
}

}  // namespace

void complete_request(MpiThread& thread, MPI_Request request, const MPI_Status* status, int error) noexcept {
  RequestEntry* entry = requests().find(key_of(request));
  if (entry == nullptr || !entry->is_active) return;
  const FactKind kind = entry->start.kind;
  const bool is_message = error == MPI_SUCCESS || (kind == FactKind::kRecvRequest && is_truncation(error));
  if (kind == FactKind::kNone) {
  } else if (entry->is_cancel_requested && status != nullptr && is_cancelled(*status)) {
    stage(thread, {.kind = FactKind::kCancelled, .request = entry->start.request});
  } else if (!is_message) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  } else if (kind == FactKind::kSendRequest) {
    stage(thread, {.kind = FactKind::kSendComplete, .request = entry->start.request});
  } else if (kind == FactKind::kRecvRequest) {
    stage_receive(thread, *entry, status);
  } else if (kind == FactKind::kCollectiveRequest) {
    stage_collective(thread, *entry);
  }
  entry->is_cancel_requested = false;
  if (entry->is_persistent) {
    entry->is_active = false;
  } else {
    requests().erase(entry);
  }
}

void free_request(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request));
  if (entry == nullptr) return;
  if (entry->is_active && entry->start.kind != FactKind::kNone) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  }
  requests().erase(entry);
}

}  // namespace megascope::mpi
