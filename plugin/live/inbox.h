#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/lifecycle/live_server.h"
#include "plugin/live/bounds.h"

namespace megascope::live {

/// What the application's thread hands to the live view's: copies, at most kMostInboxBytes. Neither waits for the other. Any number of
/// threads may put, one takes.
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
  ~Inbox() { delete_all(first_.exchange(nullptr)); }

  /// False: there is no room, or no memory.
  bool put(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept {
    const std::size_t before = bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
    Item* const item = before + bytes.size() <= kMostInboxBytes ? made(kind, world_rank, bytes) : nullptr;
    if (item == nullptr) {
      bytes_.fetch_sub(bytes.size(), std::memory_order_relaxed);
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    item->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(item->next, item, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
  }

  /// Calls function(item) for each in the order in which they were put.
  template <class Function>
  void take_all(Function function) {
    Item* list = first_.exchange(nullptr, std::memory_order_acquire);
    std::vector<std::unique_ptr<Item>> items;
    for (; list != nullptr; list = items.back()->next) items.emplace_back(list);
    for (; !items.empty(); items.pop_back()) {
      bytes_.fetch_sub(items.back()->bytes.size(), std::memory_order_relaxed);
      function(*items.back());
    }
  }
  /// How many were refused since the last time.
  std::uint64_t take_refused() noexcept { return refused_.exchange(0, std::memory_order_relaxed); }

 private:
  static Item* made(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept {
    try {
      return new Item{kind, world_rank, {bytes.begin(), bytes.end()}, nullptr};
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  static void delete_all(Item* list) {
    while (list != nullptr) delete std::exchange(list, list->next);
  }

  std::atomic<Item*> first_{nullptr};  ///< the newest
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace megascope::live
