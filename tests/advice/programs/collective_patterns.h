// Patterns of collectives, and the same without the problem. Included once, after work_us().
#pragma once

static void gather_bcast(int with_barriers) {
  double values[64], value = rank;
  for (int step = 0; step < 500; ++step) {
    MPI_Gather(&value, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      value = 0;
      for (int i = 0; i < size; ++i) value += values[i] / size;
    }
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (with_barriers) MPI_Barrier(MPI_COMM_WORLD);
    work_us(200);
  }
}

// Rank 0 collects and works on it for long before it says what to do: no Allreduce; and a gather of
// results with another root's broadcast.
static void not_gather_bcast(void) {
  double values[64], value = rank;
  for (int step = 0; step < 100; ++step) {
    MPI_Gather(&value, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) compute_us(5000);
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(&value, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    work_us(1000);
  }
}

static void bcast_runs(void) {
  double values[8] = {0};
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < 8; ++i) MPI_Bcast(&values[i], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    work_us(500);
  }
}

// One of eight values; large ones in a row, which would not be faster together.
static void not_bcast_runs(void) {
  static double values[8 * 8192];
  for (int step = 0; step < 200; ++step) {
    MPI_Bcast(values, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    work_us(500);
  }
  for (int i = 0; i < 40; ++i) MPI_Bcast(values, 8 * 8192, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void exchange(int count) {
  static double sent[4096], received[4096];
  MPI_Request requests[2];
  MPI_Irecv(received, count, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, count, MPI_DOUBLE, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void barriers(void) {
  for (int step = 0; step < 500; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(100);
    MPI_Barrier(MPI_COMM_WORLD);
    work_us(200);
  }
}

// Barriers around what MPI does not order: files, and the clock.
static void not_barriers(const char* path) {
  MPI_File file;
  char text[64] = "0123456789";
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int step = 0; step < 100; ++step) {
    MPI_File_write_at(file, rank * 64, text, 64, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, (rank + 1) % size * 64, text, 64, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    exchange(100);
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_Wtime() < begin) abort();
    work_us(500);
  }
  MPI_File_close(&file);
}

static void tiny_collectives(void) {
  double value = rank, sum;
  for (int step = 0; step < 500; ++step) {
    for (int i = 0; i < 4; ++i) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    work_us(200);
  }
}

// Few; and tiny ones in which all only wait for one that is late.
static void not_tiny_collectives(void) {
  double value = rank, sum;
  for (int step = 0; step < 150; ++step) {
    work_us(1000);
    if (rank == 1) compute_us(5000);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
