// An MPI program that uses every function for files, and keeps its own books.
//   io_program BOOKS
// Each rank writes what it called into BOOKS.<rank> (tests/sanitize/ledger.h).
#include "tests/sanitize/parts.h"

int main(int argc, char** argv) {
  using namespace megascope::sanitize;
  if (argc < 2) return 2;
  Ledger ledger;
  CALL(ledger, Init, &argc, &argv);
  Place place{};
  CALL(ledger, Comm_rank, MPI_COMM_WORLD, &place.rank);
  CALL(ledger, Comm_size, MPI_COMM_WORLD, &place.size);
  const std::string ledgers = argv[1];
  const std::string mine = ledgers + "." + std::to_string(place.rank);
  use_files(ledger, place, MPI_COMM_WORLD, ledgers + ".world");
  use_files(ledger, {0, 1}, MPI_COMM_SELF, mine + ".self");
  use_own_file(ledger, MPI_COMM_SELF, mine + ".own");
  CALL(ledger, Finalize);
  return write_ledger(ledger, mine) ? 0 : 4;
}
