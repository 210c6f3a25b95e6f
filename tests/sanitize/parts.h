#pragma once

#include "tests/sanitize/ledger.h"

#include <mpi.h>

#include <string>

/// The parts of the program. Each leaves no message and no request behind. Any number of ranks.
namespace megascope::sanitize {

struct Place {
  int rank;
  int size;
  int right() const { return (rank + 1) % size; }
  int left() const { return (rank + size - 1) % size; }
};

void send_and_receive(Ledger& ledger, Place place, MPI_Comm comm);
void make_requests(Ledger& ledger, Place place, MPI_Comm comm);
void restart_requests(Ledger& ledger, Place place, MPI_Comm comm);
void probe_and_fail(Ledger& ledger, Place place);
void call_collectives(Ledger& ledger, Place place, MPI_Comm comm);
void make_communicators(Ledger& ledger, Place place);
void use_windows(Ledger& ledger, Place place, MPI_Comm comm);
/// Two threads access one window while a third makes and frees others. Under MPI_THREAD_MULTIPLE.
void use_windows_in_threads(Ledger& ledger, Place place);
/// Every function for files. name: of a file that all ranks can make; it is gone afterwards.
void use_files(Ledger& ledger, Place place, MPI_Comm comm, const std::string& name);
/// One file again and again, of one process. self: of no other process.
void use_own_file(Ledger& ledger, MPI_Comm self, const std::string& name);
/// Threads start, complete and make communicators at once. Under MPI_THREAD_MULTIPLE.
void call_in_threads(Ledger& ledger, Place place, const std::string& name);

}  // namespace megascope::sanitize
