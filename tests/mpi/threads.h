#pragma once

#include <mpi.h>

#include <atomic>
#include <thread>
#include <vector>

namespace megascope::mpitest {

/// Runs body(0) … body(count - 1) in threads of their own, at the same time. Each asks for its rank
/// before, in that order: so thread t has the location t + 1 of the scenario.
template <class Body>
void in_threads(int count, Body body) {
  std::atomic<int> ready_count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      while (ready_count.load() < t) std::this_thread::yield();
      int rank = -1;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      ready_count.fetch_add(1);
      while (ready_count.load() < count) std::this_thread::yield();
      body(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}
inline constexpr char kFirstOfThread[] = "MPI_Comm_rank on world";

}  // namespace megascope::mpitest
