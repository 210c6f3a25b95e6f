// An MPI program that uses every function for files, and keeps its own books.
//   io_program BOOKS
// Each rank writes what it called into BOOKS.<rank> (tests/sanitize/book.h).
#include "tests/sanitize/parts.h"

int main(int argc, char** argv) {
  using namespace megascope::sanitize;
  if (argc < 2) return 2;
  Book book;
  CALL(book, Init, &argc, &argv);
  Place place{};
  CALL(book, Comm_rank, MPI_COMM_WORLD, &place.rank);
  CALL(book, Comm_size, MPI_COMM_WORLD, &place.size);
  const std::string books = argv[1];
  const std::string mine = books + "." + std::to_string(place.rank);
  use_files(book, place, MPI_COMM_WORLD, books + ".world");
  use_files(book, {0, 1}, MPI_COMM_SELF, mine + ".self");
  use_own_file(book, MPI_COMM_SELF, mine + ".own");
  CALL(book, Finalize);
  return write_book(book, mine) ? 0 : 4;
}
