// Programs that show one known problem of MPI programs each, and programs beside them that look
// like it and must not be advised:
//   patterns MODE
// The names of modes are those of the rules of analysis/advice; `not_…` are the ones without the
// problem. 4 ranks, except where noted.
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void compute_us(long time_us) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const double end_us = now.tv_sec * 1e6 + now.tv_nsec / 1e3 + time_us;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec * 1e6 + now.tv_nsec / 1e3 < end_us);
}

static void work_us(long time_us) {  // what all do; sleeping needs no core
  const struct timespec time = {time_us / 1000000, time_us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

// 80,000 messages of 8 bytes from rank 0.
#include "collective_patterns.h"

static void small_messages(void) {
  double value = 1.0;
  for (int i = 0; i < 80000; ++i) {
    if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// As many bytes in few messages; and small messages to a neighbour once a step.
static void not_small_messages(void) {
  static double values[80000];
  if (rank == 0) MPI_Send(values, 80000, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(values, 80000, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int step = 0; step < 2000; ++step) {
    double mine = rank, theirs;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, rank ^ 1, 1, &theirs, 1, MPI_DOUBLE, rank ^ 1, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// A sum by hand: rank 0 collects, adds and returns it; and a barrier for safety.
static void all_to_all(void) {
  static double sent[64][256], received[64][256];
  for (int step = 0; step < 200; ++step) {
    MPI_Request requests[128];
    int count = 0;
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      MPI_Irecv(received[other], 256, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(sent[other], 256, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    work_us(200);
  }
}

// Neighbours on a ring; and a master that sends to all.
static void not_all_to_all(void) {
  double value = rank;
  for (int step = 0; step < 200; ++step) {
    exchange(256);
    for (int other = 1; other < size; ++other) {
      if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, other, 5, MPI_COMM_WORLD);
      if (rank == other) MPI_Recv(&value, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    work_us(500);
  }
}

// Rank 1 waits for a late message by asking again and again.
static void polling(void) {
  double value = 0;
  for (int step = 0; step < 20; ++step) {
    if (rank == 0) {
      work_us(20000);
      MPI_Send(&value, 1, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 1) {
      int flag = 0;
      while (!flag) MPI_Iprobe(0, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Recv(&value, 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

// Rank 1 works, and asks between two pieces of work.
static void not_polling(void) {
  double value = 0;
  for (int step = 0; step < 20; ++step) {
    if (rank == 0) {
      work_us(20000);
      MPI_Send(&value, 1, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Request request;
      int flag = 0;
      MPI_Irecv(&value, 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, &request);
      while (!flag) {
        work_us(20);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
    }
  }
}

static void write_file(const char* path, MPI_Comm comm, int count) {
  static char data[1 << 20];
  MPI_File file;
  MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  for (int i = 0; i < count; ++i)
    MPI_File_write_at(file, (MPI_Offset)(i * size + rank) << 20, data, 1 << 20, MPI_BYTE,
                      MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

// Rank 0 writes what is everybody's, the others wait.
static void serial_files(const char* path) {
  for (int step = 0; step < 5; ++step) {
    work_us(2000);
    if (rank == 0) write_file(path, MPI_COMM_SELF, 40);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// All write their part; then rank 0 computes alone for long.
static void not_serial_files(const char* path) {
  double value = 0, sum;
  for (int step = 0; step < 5; ++step) {
    work_us(2000);
    write_file(path, MPI_COMM_WORLD, 8);
    if (rank == 0) compute_us(50000);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

// The same as serial_files by calls of the system, which MPI does not see: each write waits for the
// disk (here: a sleep stands for it).
static void blocked_rank(void) {
  double value = 0, sum;
  for (int step = 0; step < 20; ++step) {
    if (rank == 0) work_us(10000);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Rank 0 receives all of one rank, works, then takes all of the next.
static void unexpected_messages(void) {
  enum { kCount = 2000 };
  static char data[1024];
  if (rank != 0) {
    for (int i = 0; i < kCount; ++i) MPI_Send(data, 1024, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
  } else {
    for (int other = 1; other < size; ++other) {
      for (int i = 0; i < kCount; ++i)
        MPI_Recv(data, 1024, MPI_CHAR, other, other, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute_us(20000);
    }
  }
}

// As many messages; the receives are posted before they are sent.
static void not_unexpected_messages(void) {
  enum { kCount = 100 };
  static char data[3 * kCount][1024];
  for (int step = 0; step < 20; ++step) {
    MPI_Request requests[3 * kCount];
    if (rank == 0) {
      for (int i = 0; i < 3 * kCount; ++i) {
        MPI_Irecv(data[i], 1024, MPI_CHAR, 1 + i / kCount, 1, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank != 0 && i < kCount; ++i)
      MPI_Send(data[i], 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Waitall(3 * kCount, requests, MPI_STATUSES_IGNORE);
  }
}

// A master prepares each piece of work while the others wait for it.
static void late_sender(long preparing_us, long working_us) {
  double piece = 0;
  for (int step = 0; step < 100; ++step) {
    if (rank == 0) {
      work_us(preparing_us);
      for (int other = 1; other < size; ++other)
        MPI_Send(&piece, 1, MPI_DOUBLE, other, 8, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&piece, 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      work_us(working_us);
    }
  }
}

// Each receives before it sends on; rank 0 begins. count: of doubles.
static void sequential_ring(int count) {
  static double values[1 << 16];
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  for (int step = 0; step < 200; ++step) {
    if (rank == 0) MPI_Send(values, count, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
    MPI_Recv(values, count, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(values, count, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
    work_us(100);
  }
}

// All send to the right first, but the last: sends that are not buffered end one after the other.
static void sequential_sends(void) {
  static double sent[1 << 16], received[1 << 16];
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  for (int step = 0; step < 200; ++step) {
    if (rank != size - 1) MPI_Ssend(sent, 1 << 12, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
    MPI_Recv(received, 1 << 12, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Ssend(sent, 1 << 12, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
    work_us(100);
  }
}

// All at the same time; and a pipeline in which each works between receive and send.
static void not_sequential_ring(void) {
  static double sent[4096], received[4096];
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  for (int step = 0; step < 200; ++step) {
    MPI_Sendrecv(sent, 4096, MPI_DOUBLE, right, 9, received, 4096, MPI_DOUBLE, left, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work_us(100);
  }
  for (int step = 0; step < 50; ++step) {
    if (rank > 0) MPI_Recv(received, 4096, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work_us(5000);
    if (rank + 1 < size) MPI_Send(sent, 4096, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
  }
}

// Rows of a triangular matrix in blocks: rank r has 2 r + 1 parts of the work.
static void rank_imbalance(const long* parts_us) {
  double value = rank, sum;
  for (int step = 0; step < 50; ++step) {
    work_us(parts_us[rank]);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  static const long kTriangle_us[] = {1000, 3000, 5000, 7000};
  static const long kOneSlow_us[] = {2000, 2000, 7000, 2000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* mode = argc > 1 ? argv[1] : "";
  const char* path = argc > 2 ? argv[2] : "patterns.bin";
  int is_known = 1;
  if (strcmp(mode, "small_messages") == 0)
    small_messages();
  else if (strcmp(mode, "not_small_messages") == 0)
    not_small_messages();
  else if (strcmp(mode, "gather_bcast") == 0)
    gather_bcast(0);
  else if (strcmp(mode, "gather_bcast_barriers") == 0)
    gather_bcast(1);
  else if (strcmp(mode, "not_gather_bcast") == 0)
    not_gather_bcast();
  else if (strcmp(mode, "bcast_runs") == 0)
    bcast_runs();
  else if (strcmp(mode, "not_bcast_runs") == 0)
    not_bcast_runs();
  else if (strcmp(mode, "barriers") == 0)
    barriers();
  else if (strcmp(mode, "not_barriers") == 0)
    not_barriers(path);
  else if (strcmp(mode, "tiny_collectives") == 0)
    tiny_collectives();
  else if (strcmp(mode, "not_tiny_collectives") == 0)
    not_tiny_collectives();
  else if (strcmp(mode, "all_to_all") == 0)
    all_to_all();
  else if (strcmp(mode, "not_all_to_all") == 0)
    not_all_to_all();
  else if (strcmp(mode, "polling") == 0)
    polling();
  else if (strcmp(mode, "not_polling") == 0)
    not_polling();
  else if (strcmp(mode, "serial_files") == 0)
    serial_files(path);
  else if (strcmp(mode, "not_serial_files") == 0)
    not_serial_files(path);
  else if (strcmp(mode, "blocked_rank") == 0)
    blocked_rank();
  else if (strcmp(mode, "unexpected_messages") == 0)
    unexpected_messages();
  else if (strcmp(mode, "not_unexpected_messages") == 0)
    not_unexpected_messages();
  else if (strcmp(mode, "late_sender") == 0)
    late_sender(3000, 1000);
  else if (strcmp(mode, "not_late_sender") == 0)
    late_sender(0, 3000);
  else if (strcmp(mode, "sequential_ring") == 0)
    sequential_ring(1024);
  else if (strcmp(mode, "sequential_sends") == 0)
    sequential_sends();
  else if (strcmp(mode, "not_sequential_ring") == 0)
    not_sequential_ring();
  else if (strcmp(mode, "rank_imbalance") == 0)
    rank_imbalance(kTriangle_us);
  else if (strcmp(mode, "not_rank_imbalance") == 0)
    rank_imbalance(kOneSlow_us);
  else
    is_known = 0;
  MPI_Finalize();
  if (!is_known) fprintf(stderr, "unknown mode %s\n", mode);
  return is_known ? 0 : 2;
}
