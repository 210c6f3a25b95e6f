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

/// A lock that a forked child never waits for: whoever held it in the parent is not there to give
/// it back.
class ProcessLock {
 public:
  /// False in such a child.
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

/// Holds the lock while it lives; false in a forked child that must not wait for it.
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

/// Names by number, from 0 on, each once. Made at the first use and never destroyed: hooks are
/// called at any time. Entries stay where they are. Under its owner's lock.
template <class Entry>
class NameTable {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

  /// kAbsent: the name is not there.
  std::uint32_t find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? kAbsent : found->second;
  }
  std::uint32_t add(std::string_view name, Entry entry) {
    const auto number = static_cast<std::uint32_t>(names_.size());
    while (entries_.size() > number) entries_.pop_back();  // memory ran out in the middle of this
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
  /// Undoes the last add(): its number is given again.
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
