#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

/// Programs whose waits are known: waiting MODE SLOW_RANK DELAY_US STEPS
///   allreduce  every rank computes (sleeps) 1 ms a step, the slow one DELAY_US more; then
///   MPI_Allreduce chain      rank r receives from r - 1, then sends to r + 1; the slow one is late
///   halo       MPI_Irecv and MPI_Isend with both neighbours, MPI_Waitall
///   wildcard   all send to rank 0, which receives from anybody
///   die        as allreduce, and the slow rank is killed after half of the steps
/// At the end each rank says on stderr how much longer it slept than it wanted: "overslept <rank>
/// <us>".
namespace {

int rank = 0;
int size = 1;
long overslept_us = 0;

long now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

void sleep_us(long time_us) {
  const timespec time{time_us / 1'000'000, time_us % 1'000'000 * 1000};
  const long begin_us = now_us();
  nanosleep(&time, nullptr);
  overslept_us += now_us() - begin_us - time_us;
}

void chain_step() {
  int value = 0;
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 < size) MPI_Send(&value, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
}

void halo_step() {
  std::vector<double> values(4000);
  MPI_Request requests[4];
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  MPI_Irecv(values.data(), 1000, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(values.data() + 1000, 1000, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(values.data() + 2000, 1000, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(values.data() + 3000, 1000, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

void wildcard_step() {
  int value = rank;
  if (rank != 0) {
    MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    return;
  }
  std::vector<int> values(static_cast<std::size_t>(size));
  std::vector<MPI_Request> requests(static_cast<std::size_t>(size - 1));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(size - 1, requests.data(), MPI_STATUSES_IGNORE);
}

void allreduce_step() {
  double value = rank;
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* mode = argv[1];
  const int slow = std::atoi(argv[2]);
  const long delay_us = std::atol(argv[3]);
  const int steps = std::atoi(argv[4]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    sleep_us(1000 + (rank == slow ? delay_us : 0));
    if (std::strcmp(mode, "chain") == 0)
      chain_step();
    else if (std::strcmp(mode, "halo") == 0)
      halo_step();
    else if (std::strcmp(mode, "wildcard") == 0)
      wildcard_step();
    else
      allreduce_step();
    if (std::strcmp(mode, "die") == 0 && rank == slow && step == steps / 2) std::abort();
  }
  MPI_Finalize();
  std::fprintf(stderr, "overslept %d %ld\n", rank, overslept_us);
  return 0;
}
