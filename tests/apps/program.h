#pragma once

#include <mpi.h>

#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

/// What the MPI programs of this directory share. They know nothing of MegaScope; rank 0 prints
/// what is the same on every run.
namespace program {

struct Who {
  int rank = 0;
  int size = 1;
  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
};

inline Who who(MPI_Comm comm = MPI_COMM_WORLD) {
  Who me;
  MPI_Comm_rank(comm, &me.rank);
  MPI_Comm_size(comm, &me.size);
  return me;
}

/// Prints the sum over all ranks, on rank 0.
inline void say(const char* what, double mine) {
  double sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (who().rank == 0) std::printf("%s %.12g\n", what, sum);
}

/// body(0) … body(count - 1), each in a thread of its own.
inline void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace program
