#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// A thread pool for many short parallel loops in sequence. For a single loop use for_each_index().
/// One thread constructs, uses and destroys the pool; it takes part in each loop.
class Workers {
 public:
  /// jobs: number of threads including the caller; at least 1.
  explicit Workers(unsigned jobs) {
    for (unsigned i = 1; i < jobs; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Workers() {
    is_ending_ = true;
    wake();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls action(i) once for each i from 0 to count - 1, in no particular order. Returns when all
  /// calls have returned. After an exception no further calls begin; the first exception is
  /// rethrown here.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& action) {
    action_ = &action;
    count_ = count;
    next_ = 0;
    busy_ = threads_.size();
    wake();
    work();
    for (std::size_t busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void wake() {
    ++generation_;
    generation_.notify_all();
  }
  void serve() {
    for (std::uint32_t seen = 0;;) {
      generation_.wait(seen);
      ++seen;
      if (is_ending_) return;
      work();
      if (--busy_ == 0) busy_.notify_one();
    }
  }
  void work() {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) (*action_)(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
  }

  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> generation_{0};  ///< number of loops begun
  std::atomic<std::size_t> busy_{0};          ///< threads that are still in this loop
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> is_ending_{false};
  const std::function<void(std::size_t)>* action_ = nullptr;
  std::size_t count_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace megascope::analysis
