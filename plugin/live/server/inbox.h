#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/live/protocol/bounds.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace megascope::live {

/// Queue of messages from the application's threads to the live view's thread. It holds at most
/// kMaxInboxBytes. A message that does not fit is not added, and is counted as refused. Lock-free;
/// any number of producers, one consumer.
class Inbox {
 public:
  struct Item {
    LiveKind kind = LiveKind::kBlock;
    std::int32_t world_rank = 0;
    std::vector<std::byte> bytes;
    Item* next = nullptr;
  };

  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() {
    delete_all(first_.exchange(nullptr));
    delete_all(taken_);
  }

  /// Appends a copy of `bytes`. Returns false and counts the message as refused if the queue is
  /// full or memory runs out.
  bool put(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept {
    try {
      return has_space(bytes.size()) ? put_whole(kind, world_rank, {bytes.begin(), bytes.end()})
                                     : refuse();
    } catch (const std::bad_alloc&) {
      return refuse();
    }
  }
  /// Appends `bytes` without copying them. Returns false, counts the message as refused and leaves
  /// `bytes` unchanged if the queue is full or memory runs out.
  bool put_whole(LiveKind kind, std::int32_t world_rank, std::vector<std::byte>&& bytes) noexcept {
    const std::size_t size = bytes.capacity();
    const bool has_space = bytes_.fetch_add(size, std::memory_order_relaxed) + size <=
                           kMaxInboxBytes;
    Item* const item = has_space ? new (std::nothrow) Item : nullptr;
    if (item == nullptr) {
      bytes_.fetch_sub(size, std::memory_order_relaxed);
      return refuse();
    }
    item->kind = kind;
    item->world_rank = world_rank;
    item->bytes = std::move(bytes);
    item->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(item->next, item, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    return true;
  }

  /// Calls function(item) for each item in insertion order. If it throws, that item is removed and
  /// the rest stays queued.
  template <class Function>
  void take_all(Function function) {
    Item* oldest = nullptr;
    for (Item* newest = first_.exchange(nullptr, std::memory_order_acquire); newest != nullptr;) {
      Item* const older = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, older);
    }
    Item** end = &taken_;
    while (*end != nullptr) end = &(*end)->next;
    *end = oldest;
    while (taken_ != nullptr) {
      const std::unique_ptr<Item> item(taken_);
      taken_ = item->next;
      bytes_.fetch_sub(item->bytes.capacity(), std::memory_order_relaxed);
      function(std::as_const(*item));
    }
  }
  /// Number of refused items since the last call.
  std::uint64_t take_refused() noexcept { return refused_.exchange(0, std::memory_order_relaxed); }

 private:
  bool has_space(std::size_t size) const noexcept {
    return bytes_.load(std::memory_order_relaxed) + size <= kMaxInboxBytes;
  }
  bool refuse() noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  static void delete_all(Item* list) {
    while (list != nullptr) delete std::exchange(list, list->next);
  }

  std::atomic<Item*> first_{nullptr};  ///< newest item
  /// Oldest item that was taken from first_ but not yet handed to the callback; consumer only.
  Item* taken_ = nullptr;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace megascope::live
