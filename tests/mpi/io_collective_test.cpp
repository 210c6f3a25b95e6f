#include "tests/mpi/files.h"
#include "tests/mpi/scenario.h"

#include <array>

/// Collective reads and writes: whole, ordered, and split.
namespace megascope::mpitest {
namespace {

const Scenario kAtAll(
    "MpiFileWriteAtAll.IsCollective",
    [](const Who& me) {
      std::array<int, 6> values{};
      const MPI_File file = open_file("at_all");
      MPI_File_write_at_all(file, 24 * me.rank, values.data(), 6, MPI_INT, MPI_STATUS_IGNORE);
      MPI_Status status;
      MPI_File_read_at_all(file, 24 * me.rank, values.data(), me.rank == 0 ? 0 : 6, MPI_INT,
                           &status);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {
          "MPI_File_open on world | opened at_all",
          text("MPI_File_write_at_all on world | write at_all at %d all bytes 24", 24 * me.rank),
          text("MPI_File_read_at_all on world | read at_all at %d all bytes %d", 24 * me.rank,
               me.rank == 0 ? 0 : 24),
          "MPI_File_close on world | closed at_all"};
    });

const Scenario kAll(
    "MpiFileWriteAll.IsCollective",
    [](const Who& me) {
      std::array<char, 6> values{};
      const MPI_File file = open_file("all");
      MPI_File_seek(file, 6 * me.rank, MPI_SEEK_SET);
      MPI_File_write_all(file, values.data(), 6, MPI_CHAR, MPI_STATUS_IGNORE);
      MPI_File_seek(file, 6 * me.rank, MPI_SEEK_SET);
      MPI_File_read_all(file, values.data(), 3, MPI_CHAR, MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      const std::string seek = text("MPI_File_seek on world | seek all start %d to %d", 6 * me.rank,
                                    6 * me.rank);
      return {"MPI_File_open on world | opened all",
              seek,
              "MPI_File_write_all on world | write all all bytes 6",
              seek,
              "MPI_File_read_all on world | read all all bytes 3",
              "MPI_File_close on world | closed all"};
    });

const Scenario kOrdered(
    "MpiFileWriteOrdered.IsCollective",
    [](const Who& me) {
      std::array<char, 8> values{};
      values.fill(static_cast<char>(me.rank));
      const MPI_File file = open_file("ordered");
      MPI_File_write_ordered(file, values.data(), me.rank + 1, MPI_CHAR, MPI_STATUS_IGNORE);
      MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
      MPI_File_read_ordered(file, values.data(), me.rank + 1, MPI_CHAR, MPI_STATUS_IGNORE);
      expect(values[0] == me.rank, "what was written in order");
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened ordered",
              text("MPI_File_write_ordered on world | write ordered all bytes %d", me.rank + 1),
              "MPI_File_seek_shared on world | seek ordered start 0 to 0",
              text("MPI_File_read_ordered on world | read ordered all bytes %d", me.rank + 1),
              "MPI_File_close on world | closed ordered"};
    });

// Split: what begins is a request, which the end completes.

const Scenario kSplitAtAll(
    "MpiFileWriteAtAllBegin.IsARequestThatItsEndCompletes",
    [](const Who& me) {
      std::array<int, 6> values{};
      const MPI_File file = open_file("split_at");
      MPI_File_write_at_all_begin(file, 24 * me.rank, values.data(), 6, MPI_INT);
      MPI_File_write_at_all_end(file, values.data(), MPI_STATUS_IGNORE);
      MPI_File_read_at_all_begin(file, 24 * me.rank, values.data(), 6, MPI_INT);
      MPI_Status status;
      MPI_File_read_at_all_end(file, values.data(), &status);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      const std::string what = text(" split_at at %d all bytes 24", 24 * me.rank);
      return {"MPI_File_open on world | opened split_at",
              "MPI_File_write_at_all_begin on world | iwrite r1" + what,
              "MPI_File_write_at_all_end on world | put r1" + what,
              "MPI_File_read_at_all_begin on world | iread r2" + what,
              "MPI_File_read_at_all_end on world | got r2" + what,
              "MPI_File_close on world | closed split_at"};
    });

const Scenario kSplitAll(
    "MpiFileWriteAllBegin.IsARequestThatItsEndCompletes",
    [](const Who& me) {
      std::array<char, 6> values{};
      const MPI_File file = open_file("split");
      const MPI_File other = open_file("other");
      MPI_File_seek(file, 6 * me.rank, MPI_SEEK_SET);
      MPI_File_write_all_begin(file, values.data(), 6, MPI_CHAR);
      MPI_File_write_all_begin(other, values.data(), 1, MPI_CHAR);  // one a file at a time
      MPI_File_write_all_end(file, values.data(), MPI_STATUS_IGNORE);
      MPI_File_write_all_end(other, values.data(), MPI_STATUS_IGNORE);
      MPI_File_seek(file, 0, MPI_SEEK_SET);
      MPI_File_read_all_begin(file, values.data(), 6, MPI_CHAR);
      MPI_File_read_all_end(file, values.data(), MPI_STATUS_IGNORE);
      close_file(other);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened split",
              "MPI_File_open on world | opened other",
              text("MPI_File_seek on world | seek split start %d to %d", 6 * me.rank, 6 * me.rank),
              "MPI_File_write_all_begin on world | iwrite r1 split all bytes 6",
              "MPI_File_write_all_begin on world | iwrite r2 other all bytes 1",
              "MPI_File_write_all_end on world | put r1 split all bytes 6",
              "MPI_File_write_all_end on world | put r2 other all bytes 1",
              "MPI_File_seek on world | seek split start 0 to 0",
              "MPI_File_read_all_begin on world | iread r3 split all bytes 6",
              "MPI_File_read_all_end on world | got r3 split all bytes 6",
              "MPI_File_close on world | closed other",
              "MPI_File_close on world | closed split"};
    });

const Scenario kSplitOrdered(
    "MpiFileWriteOrderedBegin.IsARequestThatItsEndCompletes",
    [](const Who&) {
      std::array<char, 6> values{};
      const MPI_File file = open_file("split_ordered");
      MPI_File_write_ordered_begin(file, values.data(), 6, MPI_CHAR);
      MPI_File_write_ordered_end(file, values.data(), MPI_STATUS_IGNORE);
      MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
      MPI_File_read_ordered_begin(file, values.data(), 6, MPI_CHAR);
      MPI_File_read_ordered_end(file, values.data(), MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on world | opened split_ordered",
              "MPI_File_write_ordered_begin on world | iwrite r1 split_ordered all bytes 6",
              "MPI_File_write_ordered_end on world | put r1 split_ordered all bytes 6",
              "MPI_File_seek_shared on world | seek split_ordered start 0 to 0",
              "MPI_File_read_ordered_begin on world | iread r2 split_ordered all bytes 6",
              "MPI_File_read_ordered_end on world | got r2 split_ordered all bytes 6",
              "MPI_File_close on world | closed split_ordered"};
    });

const Scenario kSplitRefused(
    "MpiFileWriteAllBegin.ThatIsRefusedLeavesOnlyItsError",
    [](const Who&) {
      char value = 0;
      const MPI_File file = open_file("unsplit");
      expect(MPI_File_write_all_begin(file, &value, -1, MPI_CHAR) != MPI_SUCCESS,
             "a negative count");
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on world | opened unsplit",
              "MPI_File_write_all_begin on world | error " + std::to_string(MPI_ERR_COUNT),
              "MPI_File_close on world | closed unsplit"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
