#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace megascope::analysis {

/// Calls action(i) once for each i from 0 to count - 1, in no particular order, on at most `jobs`
/// threads including the caller. Returns when all threads have ended. A thread whose action throws
/// makes no further calls; the first exception is rethrown to the caller.
template <class Action>
void for_each_index(std::size_t count, unsigned jobs, const Action& action) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) action(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  const std::size_t helpers = std::min<std::size_t>(std::max(jobs, 1U),
                                                    std::max<std::size_t>(count, 1)) -
                              1;
  for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace megascope::analysis
