#include "mpi_layer/handles/requests.h"

#include <new>

namespace megascope::mpi {
namespace {

constexpr std::size_t kInitialSlots = 1024;
constexpr std::size_t kEntriesPerBlock = 64;
constexpr unsigned
    kMaxDisplaced = 4;  // older operations of one handle whose completion is being looked up
constexpr unsigned kMaxSharedLookedAt = 64;

}  // namespace

constinit RequestTable g_requests;

void RequestTable::lock_slow_path() noexcept {
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

/// Inserts an operation of a handle that is in the table. kept: how many older ones remain.
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
  entry->location = location;  // set before others see it in the list of the shared handle
  if (is_shared(key)) {
    insert_shared(entry);
  } else {
    std::size_t at = home_of(key);
    while (slots_[at] != nullptr && slots_[at]->key != key) at = (at + 1) & mask_;
    if (slots_[at] == nullptr) [[likely]] {
      slots_[at] = entry;
      ++count_;
    } else {
      displace(slots_[at], entry, is_nested || is_multithreaded() ? kMaxDisplaced : 0);
    }
  }
  unlock();
  return entry;
}

RequestEntry* RequestTable::find_shared(std::uint64_t key, LocationId location) noexcept {
  RequestEntry* const first = shared_list(key).first;
  if (!is_multithreaded()) return first;
  unsigned left = kMaxSharedLookedAt;
  for (RequestEntry* entry = first; entry != nullptr && left > 0; entry = entry->next, --left) {
    if (entry->location == location) return entry;
  }
  return first;
}

/// Returns the link to the operation of `key` at the horizon; it, or what it points to, is nullptr
/// if there is none.
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

/// link: in a slot, or in the chain of a slot.
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

/// Moves later entries back over the hole, if they could be in it.
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
    if (*link == entry) {  // else displaced by too many others and forgotten
      unlink(link);
      forget(entry);
    }
  }
  unlock();
}

}  // namespace megascope::mpi
