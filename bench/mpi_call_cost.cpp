// What an MPI call costs this process, batch by batch: run it bare and under a tool, and subtract.
// Prints one line a case: name, median and minimum of 100-call batches in ns a call, CPU ns a call
// of the whole loop.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <time.h>
#include <vector>

namespace {

double now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Body>
void measure(const char* name, long call_count, int calls_per_body, Body body) {
  constexpr int kBatch = 100;
  std::vector<double> batches;
  const long batch_count = std::max(1L, call_count / calls_per_body / kBatch);
  batches.reserve(static_cast<std::size_t>(batch_count));
  const double cpu_begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (long batch = 0; batch < batch_count; ++batch) {
    const double begin = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < kBatch; ++i) body();
    batches.push_back((now_ns(CLOCK_MONOTONIC) - begin) / kBatch / calls_per_body);
  }
  const double cpu_ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) /
                        static_cast<double>(batch_count * kBatch) / calls_per_body;
  std::nth_element(batches.begin(), batches.begin() + batch_count / 2, batches.end());
  const double median = batches[static_cast<std::size_t>(batch_count / 2)];
  std::printf("%s %.2f %.2f %.2f\n", name, median,
              *std::min_element(batches.begin(), batches.end()), cpu_ns);
}

void one_rank(long calls) {
  int rank = 0;
  int flag = 0;
  char out[8] = {};
  char in[8] = {};
  double value = 1;
  double sum = 0;
  measure("comm_rank", calls, 1, [&] { MPI_Comm_rank(MPI_COMM_WORLD, &rank); });
  measure("iprobe_self", calls, 1,
          [&] { MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); });
  MPI_Request awaited[2];
  for (int i = 0; i < 2; ++i) MPI_Irecv(in, 8, MPI_CHAR, 0, 8 + i, MPI_COMM_SELF, &awaited[i]);
  measure("testany_2_self", calls, 1,
          [&] { MPI_Testany(2, awaited, &rank, &flag, MPI_STATUS_IGNORE); });
  for (MPI_Request& request : awaited) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  measure("sendrecv_self", calls, 1, [&] {
    MPI_Sendrecv(out, 8, MPI_CHAR, 0, 1, in, 8, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  });
  measure("isend_irecv_waitall_self", calls, 3, [&] {
    MPI_Request requests[2];
    MPI_Irecv(in, 8, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  });
  // What a request costs from its making to its completion: 128 of them share one MPI_Waitall.
  measure("isend_irecv_x64_waitall_self", calls / 4, 129, [&] {
    MPI_Request requests[128];
    for (int i = 0; i < 64; ++i) MPI_Irecv(in, 8, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 64; ++i)
      MPI_Isend(out, 8, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[64 + i]);
    MPI_Waitall(128, requests, MPI_STATUSES_IGNORE);
  });
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_SELF, static_cast<void*>(&memory), &window);
  MPI_Win_lock_all(0, window);
  measure("put_self", calls, 1, [&] { MPI_Put(out, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window); });
  measure("rput_wait_self", calls, 2, [&] {
    MPI_Request request;
    MPI_Rput(out, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  measure("flush_self", calls, 1, [&] { MPI_Win_flush(0, window); });
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, "mpi_call_cost.file",
                MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  // Of nothing: what MPI and the system need for a write is not in the way.
  measure("file_write_nothing", calls, 1,
          [&] { MPI_File_write(file, out, 0, MPI_CHAR, MPI_STATUS_IGNORE); });
  measure("file_write_at_nothing", calls, 1,
          [&] { MPI_File_write_at(file, 64, out, 0, MPI_CHAR, MPI_STATUS_IGNORE); });
  measure("file_write_at_8", calls / 4, 1,
          [&] { MPI_File_write_at(file, 64, out, 8, MPI_CHAR, MPI_STATUS_IGNORE); });
  measure("file_seek", calls, 1, [&] { MPI_File_seek(file, 8, MPI_SEEK_SET); });
  MPI_File_close(&file);
  measure("allreduce_self", calls, 1,
          [&] { MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); });
}

void two_ranks(long calls, int rank) {
  char data[8] = {};
  const int peer = 1 - rank;
  measure("pingpong_8", calls, 2, [&] {
    if (rank == 0) MPI_Send(data, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
  });
  measure("bcast_8", calls, 1, [&] { MPI_Bcast(data, 8, MPI_CHAR, 0, MPI_COMM_WORLD); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long calls = argc > 1 ? std::atol(argv[1]) : 300000;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) std::freopen("/dev/null", "w", stdout);
  if (size == 1)
    one_rank(calls);
  else if (size == 2)
    two_ranks(calls, rank);
  const double begin = now_ns(CLOCK_MONOTONIC);
  MPI_Finalize();
  std::printf("finalize_s %.6f %.6f 0\n", (now_ns(CLOCK_MONOTONIC) - begin) * 1e-9, 0.0);
  return 0;
}
