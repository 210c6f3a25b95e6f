// An MPI program for tests of the command line. Every rank calls MPI_Barrier `kBarriers` times and
// sends one message of 64 bytes to its right neighbour; then it does what its first argument says.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kBarriers = 100;
constexpr int kTermExitCode = 9;

void end_after_term(int) { _exit(kTermExitCode); }

void communicate() {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < kBarriers; ++i) MPI_Barrier(MPI_COMM_WORLD);
  std::array<char, 64> out{};
  std::array<char, 64> in{};
  MPI_Sendrecv(out.data(), 64, MPI_CHAR, (rank + 1) % size, 5, in.data(), 64, MPI_CHAR,
               (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Even and odd ranks as two groups: each rank sends its partner of the other group a message, the
/// even group's first rank broadcasts to the odd ones, and all meet in a barrier.
void cross_groups() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half;
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 7, &both);
  MPI_Comm_set_name(both, "both");
  int value = rank;
  int other = 0;
  MPI_Sendrecv(&value, 1, MPI_INT, rank / 2, 9, &other, 1, MPI_INT, rank / 2, 9, both,
               MPI_STATUS_IGNORE);
  const int root = rank % 2 != 0 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&value, 1, MPI_INT, root, both);
  MPI_Barrier(both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

/// Calls of many kinds, enough for several full chunks: messages to the next rank in a loop, sizes
/// that follow no rule, requests that are tested, collectives now and then.
void work_long() {
  constexpr int kRounds = 12'000;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size;
  const int last = (rank + size - 1) % size;
  std::vector<char> from(1000);
  std::vector<char> to(1000);
  for (unsigned i = 0; i < kRounds; ++i) {
    const int bytes = static_cast<int>(i * 2654435761U % 1000);
    MPI_Request requests[2];
    MPI_Irecv(from.data(), bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(to.data(), bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    int is_done = 0;
    MPI_Test(&requests[0], &is_done, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(to.data(), 8, MPI_BYTE, next, 2, from.data(), 8, MPI_BYTE, last, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int packed_bytes = 0;
    MPI_Pack_size(bytes, MPI_INT, MPI_COMM_WORLD, &packed_bytes);
    for (unsigned run = 0; i % 50 == 0 && run < 47; ++run) {  // equal calls in a row
      if (run < 7) MPI_Barrier(MPI_COMM_WORLD);
      if (run >= 7) MPI_Type_size(MPI_INT, &packed_bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "chdir") == 0 && chdir("/") != 0) return 1;
  MPI_Init(&argc, &argv);
  communicate();
  if (std::strcmp(what, "groups") == 0) cross_groups();
  if (std::strcmp(what, "long") == 0) work_long();
  if (std::strcmp(what, "kill") == 0) raise(SIGKILL);
  if (std::strcmp(what, "wait") == 0) {
    signal(SIGTERM, end_after_term);
    std::puts("waiting");
    std::fflush(stdout);
    for (;;) pause();
  }
  if (std::strcmp(what, "pause") == 0) {
    std::puts("waiting");
    std::fflush(stdout);
    for (;;) pause();
  }
  if (std::strcmp(what, "linger") == 0) {
    std::puts("waiting");
    std::fflush(stdout);
    std::getchar();
  }
  MPI_Finalize();
  return argc > 2 && std::strcmp(what, "exit") == 0 ? std::atoi(argv[2]) : 0;
}
