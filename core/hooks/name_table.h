#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <sched.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>

namespace megascope::hooks {

/// A lock that a forked child never waits for: a thread that held it in the parent does not exist
/// in the child.
class ProcessLock {
 public:
  /// Waits for the lock. Returns false in a forked child if a thread of the parent held it.
  bool lock() noexcept {
    const pid_t self = getpid();
    for (;;) {
      pid_t holder = 0;
      if (holder_.compare_exchange_weak(holder, self, std::memory_order_acquire)) return true;
      if (holder != 0 && holder != self) return false;
      sched_yield();
    }
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<pid_t> holder_{0};
};

/// Holds a ProcessLock for a scope; converts to false if the lock could not be taken.
class ProcessGuard {
 public:
  explicit ProcessGuard(ProcessLock& lock) noexcept : lock_(lock), is_held_(lock.lock()) {}
  ~ProcessGuard() {
    if (is_held_) lock_.unlock();
  }
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;
  explicit operator bool() const { return is_held_; }

 private:
  ProcessLock& lock_;
  bool is_held_;
};

/// A table of unique names. Each name has a number, consecutive from 0, and an entry. References to
/// entries stay valid. The owner must hold a lock during each call. Created at first use and never
/// destroyed, because hooks may be called at any time.
template <class Entry>
class NameTable {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

  /// Returns the number of the name; kAbsent if it is not in the table.
  std::uint32_t find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? kAbsent : found->second;
  }
  /// Adds a new name and returns its number. May throw std::bad_alloc; the table is then unchanged.
  std::uint32_t add(std::string_view name, Entry entry) {
    const auto number = static_cast<std::uint32_t>(names_.size());
    while (entries_.size() > number)
      entries_.pop_back();  // left by an add() that ran out of memory
    entries_.push_back(std::move(entry));
    names_.emplace_back(name);
    try {
      index_.emplace(names_.back(), number);
    } catch (...) {
      names_.pop_back();
      throw;
    }
    return number;
  }
  /// Undoes the last add(); its number is assigned again.
  void remove_last() noexcept {
    index_.erase(std::string_view(names_.back()));
    names_.pop_back();
    entries_.pop_back();
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  const std::string& name(std::uint32_t number) const { return names_[number]; }
  Entry& entry(std::uint32_t number) { return entries_[number]; }

 private:
  std::deque<std::string> names_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

}  // namespace megascope::hooks
