#pragma once

#include "tests/sanitize/book.h"

#include <mpi.h>

/// The parts of the program. Each leaves no message and no request behind. Any number of ranks.
namespace megascope::sanitize {

struct Place {
  int rank;
  int size;
  int right() const { return (rank + 1) % size; }
  int left() const { return (rank + size - 1) % size; }
};

void send_and_receive(Book& book, Place place, MPI_Comm comm);
void make_requests(Book& book, Place place, MPI_Comm comm);
void restart_requests(Book& book, Place place, MPI_Comm comm);
void probe_and_fail(Book& book, Place place);
void call_collectives(Book& book, Place place, MPI_Comm comm);
void make_communicators(Book& book, Place place);
void use_windows(Book& book, Place place, MPI_Comm comm);
/// Two threads access one window while a third makes and frees others. Under MPI_THREAD_MULTIPLE.
void use_windows_in_threads(Book& book, Place place);
/// Threads start, complete and make communicators at once. Under MPI_THREAD_MULTIPLE.
void call_in_threads(Book& book, Place place);

}  // namespace megascope::sanitize
