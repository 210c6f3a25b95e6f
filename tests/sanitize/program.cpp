// An MPI program that is linked with the wrappers, so that a sanitizer sees them and all that they
// call at work.
//   sanitize_program single|multiple BOOKS [kill]
// Each rank writes what it called into BOOKS.<rank> (ledger.h). kill: rank 0 ends by SIGKILL
// instead of MPI_Finalize, and the books are without it.
#include "tests/sanitize/parts.h"

#include <aio.h>
#include <cstring>
#include <signal.h>
#include <string>

namespace {

using megascope::sanitize::Ledger;
using megascope::sanitize::Place;
using megascope::sanitize::write_ledger;

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
  const std::string ledgers = argv[2];
  Ledger ledger;
  int provided = MPI_THREAD_SINGLE;
  if (is_multiple)
    CALL(ledger, Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    CALL(ledger, Init, &argc, &argv);
  if (is_multiple && provided != MPI_THREAD_MULTIPLE) return 3;
  Place place{};
  CALL(ledger, Comm_rank, MPI_COMM_WORLD, &place.rank);
  CALL(ledger, Comm_size, MPI_COMM_WORLD, &place.size);
  send_and_receive(ledger, place, MPI_COMM_WORLD);
  make_requests(ledger, place, MPI_COMM_WORLD);
  restart_requests(ledger, place, MPI_COMM_WORLD);
  probe_and_fail(ledger, place);
  call_collectives(ledger, place, MPI_COMM_WORLD);
  make_communicators(ledger, place);
  use_windows(ledger, place, MPI_COMM_WORLD);
  if (is_multiple) use_windows_in_threads(ledger, place);
  use_files(ledger, place, MPI_COMM_WORLD, ledgers + ".data");
  if (is_multiple) call_in_threads(ledger, place, ledgers);
  CALL(ledger, Barrier, MPI_COMM_WORLD);
  const std::string path = ledgers + "." + std::to_string(place.rank);
  if (is_killed) {
    if (!write_ledger(ledger, path)) return 4;
    raise(SIGKILL);
  }
  CALL(ledger, Finalize);
  return write_ledger(ledger, path) ? 0 : 4;
}
