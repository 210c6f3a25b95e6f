#include <array>
#include <vector>

#include "tests/mpi/scenario.h"

/// Blocking reads and writes, and what lies around them: opening, size, seeking, views, closing. Files lie in the folder of
/// the run, which ends with the test.
namespace megascope::mpitest {
namespace {

constexpr int kReadWrite = MPI_MODE_RDWR | MPI_MODE_CREATE;

const Scenario kExplicit(
    "MpiFileWriteAt.RecordsFileOffsetAndBytes",
    [](const Who& me) {
      std::array<int, 10> values{};
      MPI_File file;
      MPI_File_open(MPI_COMM_WORLD, "explicit", kReadWrite, MPI_INFO_NULL, &file);
      MPI_File_write_at(file, 40 * me.rank, values.data(), 10, MPI_INT, MPI_STATUS_IGNORE);
      MPI_Status status;
      MPI_File_read_at(file, 40 * me.rank + 4, values.data(), 9, MPI_INT, &status);
      int count = 0;
      MPI_Get_count(&status, MPI_INT, &count);
      expect(count == 9, "the count of a read");
      MPI_File_close(&file);
      expect(file == MPI_FILE_NULL, "a closed file");
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened explicit",
              text("MPI_File_write_at on world | write explicit at %d bytes 40", 40 * me.rank),
              text("MPI_File_read_at on world | read explicit at %d bytes 36", 40 * me.rank + 4), "MPI_Get_count",
              "MPI_File_close on world | closed explicit"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
