#pragma once

#include <mpi.h>

#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <string>
#include <unistd.h>

/// What the programs that hang share. Each rank and thread writes a line with its process id to the
/// file named by HANGING_READY when it is about to enter what it does not leave.
namespace megascope::hanging {

inline int g_rank = 0;
inline int g_size = 1;
inline int g_value = 0;

inline void ready() {
  const char* path = std::getenv("HANGING_READY");
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string line = std::to_string(getpid()) + "\n";
  (void)!write(file, line.data(), line.size());
  close(file);
}

[[noreturn]] inline void sleep_on() {
  for (;;) sleep(1);
}
[[noreturn]] inline void linger() {
  ready();
  sleep_on();
}

inline bool is_last() { return g_rank == g_size - 1; }

inline void receive(int from, int tag, MPI_Comm comm = MPI_COMM_WORLD) {
  ready();
  MPI_Recv(&g_value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

inline MPI_Comm named(MPI_Comm comm, const char* name) {
  MPI_Comm_set_name(comm, name);
  return comm;
}

inline MPI_Comm copy(const char* name) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return named(comm, name);
}

struct Mode {
  const char* name;
  void (*run)();
};
/// In files, windows, other worlds.
std::span<const Mode> modes_elsewhere();

}  // namespace megascope::hanging
