// An MPI program that is linked with the wrappers, so that a sanitizer sees them and whatever they
// call at work.
//   sanitize_program single|multiple BOOKS [kill]
// Each rank writes what it called into BOOKS.<rank> (book.h). kill: rank 0 ends by SIGKILL instead
// of MPI_Finalize, and the books are without it.
#include "tests/sanitize/parts.h"

#include <aio.h>
#include <cstring>
#include <signal.h>
#include <string>

namespace {

using megascope::sanitize::Book;
using megascope::sanitize::Place;
using megascope::sanitize::write_book;

/// MPI-IO reads and writes by glibc's asynchronous I/O, whose threads ThreadSanitizer does not
/// know: one that starts another, which it does when requests pile up, ends the process in the
/// sanitizer's calloc.
void let_io_have_one_thread() {
  aioinit settings{};
  settings.aio_threads = 1;
  settings.aio_num = 64;
  settings.aio_idle_time = 1;
  aio_init(&settings);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  let_io_have_one_thread();
  const bool is_multiple = std::strcmp(argv[1], "multiple") == 0;
  const bool is_killed = argc > 3 && std::strcmp(argv[3], "kill") == 0;
  const std::string books = argv[2];
  Book book;
  int provided = MPI_THREAD_SINGLE;
  if (is_multiple)
    CALL(book, Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    CALL(book, Init, &argc, &argv);
  if (is_multiple && provided != MPI_THREAD_MULTIPLE) return 3;
  Place place{};
  CALL(book, Comm_rank, MPI_COMM_WORLD, &place.rank);
  CALL(book, Comm_size, MPI_COMM_WORLD, &place.size);
  send_and_receive(book, place, MPI_COMM_WORLD);
  make_requests(book, place, MPI_COMM_WORLD);
  restart_requests(book, place, MPI_COMM_WORLD);
  probe_and_fail(book, place);
  call_collectives(book, place, MPI_COMM_WORLD);
  make_communicators(book, place);
  use_windows(book, place, MPI_COMM_WORLD);
  if (is_multiple) use_windows_in_threads(book, place);
  use_files(book, place, MPI_COMM_WORLD, books + ".data");
  if (is_multiple) call_in_threads(book, place, books);
  CALL(book, Barrier, MPI_COMM_WORLD);
  const std::string path = books + "." + std::to_string(place.rank);
  if (is_killed) {
    if (!write_book(book, path)) return 4;
    raise(SIGKILL);
  }
  CALL(book, Finalize);
  return write_book(book, path) ? 0 : 4;
}
