#include "tests/mpi/files.h"
#include "tests/mpi/scenario.h"

#include <array>
#include <vector>

/// Blocking reads and writes of one process at a time, by all three kinds of pointers. Files lie in
/// the directory of the run, which ends with the test.
namespace megascope::mpitest {
namespace {

const Scenario kExplicit(
    "MpiFileWriteAt.RecordsFileOffsetAndBytes",
    [](const Who& me) {
      std::array<int, 10> values{};
      values.fill(me.rank);
      const MPI_File file = open_file("explicit");
      MPI_File_write_at(file, 40 * me.rank, values.data(), 10, MPI_INT, MPI_STATUS_IGNORE);
      MPI_Status status;
      MPI_File_read_at(file, 40 * me.rank + 4, values.data(), 9, MPI_INT, &status);
      expect_count(status, MPI_INT, 9);
      expect(values[8] == me.rank, "what was written");
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened explicit",
              text("MPI_File_write_at on world | write explicit at %d bytes 40", 40 * me.rank),
              text("MPI_File_read_at on world | read explicit at %d bytes 36", 40 * me.rank + 4),
              "MPI_Get_count", "MPI_File_close on world | closed explicit"};
    });

const Scenario kIndividual(
    "MpiFileWrite.HasNoOffsetOfItsOwn",
    [](const Who& me) {
      std::array<double, 4> values{};
      const MPI_File file = open_file("individual");
      MPI_File_seek(file, 32 * me.rank, MPI_SEEK_SET);
      MPI_File_write(file, values.data(), 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
      MPI_File_seek(file, -16, MPI_SEEK_CUR);
      MPI_Offset position = 0;
      MPI_File_get_position(file, &position);
      expect(position == 32 * me.rank + 16, "the position");
      MPI_File_read(file, values.data(), 2, MPI_DOUBLE, MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened individual",
              text("MPI_File_seek on world | seek individual start %d to %d", 32 * me.rank,
                   32 * me.rank),
              "MPI_File_write on world | write individual bytes 32",
              text("MPI_File_seek on world | seek individual current -16 to %d", 32 * me.rank + 16),
              text("MPI_File_get_position on world | uses individual {view_offset %d}",
                   32 * me.rank + 16),
              "MPI_File_read on world | read individual bytes 16",
              "MPI_File_close on world | closed individual"};
    });

const Scenario kShared(
    "MpiFileWriteShared.HasNoOffsetOfItsOwn",
    [](const Who& me) {
      std::array<char, 8> values{};
      const MPI_File file = open_file("shared");
      MPI_File_write_shared(file, values.data(), 8, MPI_CHAR, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Offset position = 0;
      MPI_File_get_position_shared(file, &position);
      expect(position == 8 * me.size, "the shared position");
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
      MPI_File_read_shared(file, values.data(), 4, MPI_CHAR, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_seek_shared(file, -4, MPI_SEEK_CUR);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {
          "MPI_File_open on world | opened shared",
          "MPI_File_write_shared on world | write shared bytes 8",
          "MPI_Barrier on world | coll #0 sent 0 received 0",
          text("MPI_File_get_position_shared on world | uses shared {view_offset %d}", 8 * me.size),
          "MPI_Barrier on world | coll #1 sent 0 received 0",
          "MPI_File_seek_shared on world | seek shared start 0 to 0",
          "MPI_File_read_shared on world | read shared bytes 4",
          "MPI_Barrier on world | coll #2 sent 0 received 0",
          "MPI_File_seek_shared on world | seek shared current -4 to unknown",
          "MPI_File_close on world | closed shared"};
    });

const Scenario kEnd(
    "MpiFileRead.AtTheEndOfTheFileTellsWhatWasRead",
    [](const Who&) {
      std::array<int, 8> values{};
      const MPI_File file = open_file("short", MPI_COMM_SELF);
      MPI_File_write_at(file, 0, values.data(), 5, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_read_at(file, 8, values.data(), 8, MPI_INT, MPI_STATUS_IGNORE);
      MPI_Status status;
      MPI_File_read_at(file, 18, values.data(), 8, MPI_INT, &status);
      expect_count(status, MPI_BYTE, 2);
      MPI_File_read_at(file, 100, values.data(), 8, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_seek(file, -4, MPI_SEEK_END);
      MPI_File_read(file, values.data(), 8, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_read(file, values.data(), 8, MPI_INT, MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on self | opened short",
              "MPI_File_write_at on self | write short at 0 bytes 20",
              "MPI_File_read_at on self | read short at 8 bytes 12/32",
              "MPI_File_read_at on self | read short at 18 bytes 2/32",
              "MPI_Get_count",
              "MPI_File_read_at on self | read short at 100 bytes 0/32",
              "MPI_File_seek on self | seek short end -4 to 16",
              "MPI_File_read on self | read short bytes 4/32",
              "MPI_File_read on self | read short bytes 0/32",
              "MPI_File_close on self | closed short"};
    },
    {1});

const Scenario kNothing(
    "MpiFileWrite.OfNothingIsAnOperation",
    [](const Who&) {
      const MPI_File file = open_file("nothing");
      MPI_File_write_at(file, 3, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_write(file, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_read(file, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on world | opened nothing",
              "MPI_File_write_at on world | write nothing at 3 bytes 0",
              "MPI_File_write on world | write nothing bytes 0",
              "MPI_File_read on world | read nothing bytes 0",
              "MPI_File_close on world | closed nothing"};
    });

const Scenario kView(
    "MpiFileSetView.TellsWhereItBeginsAndItsUnit",
    [](const Who& me) {
      std::array<double, 2> values{};
      const MPI_File file = open_file("view");
      MPI_Datatype filetype;
      MPI_Type_vector(2, 1, me.size, MPI_DOUBLE, &filetype);
      MPI_Type_commit(&filetype);
      MPI_File_set_view(file, 16 + 8 * me.rank, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL);
      MPI_File_write_at(file, 1, values.data(), 2, MPI_DOUBLE, MPI_STATUS_IGNORE);
      MPI_Offset place = 0;
      MPI_File_get_byte_offset(file, 1, &place);
      MPI_Aint extent = 0;
      MPI_File_get_type_extent(file, MPI_DOUBLE, &extent);
      std::array<char, MPI_MAX_DATAREP_STRING> datarep{};
      MPI_Datatype etype;
      MPI_Datatype got;
      MPI_File_get_view(file, &place, &etype, &got, datarep.data());
      close_file(file);
      MPI_Type_free(&filetype);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened view",
              "MPI_Type_vector",
              "MPI_Type_commit",
              text("MPI_File_set_view on world | view view at %d etype 8", 16 + 8 * me.rank),
              "MPI_File_write_at on world | write view at 1 bytes 16",
              text("MPI_File_get_byte_offset on world | uses view {view_offset 1, byte_offset %d}",
                   16 + 8 * me.rank + 8 * me.size),
              "MPI_File_get_type_extent on world | uses view {extent 8}",
              "MPI_File_get_view on world | uses view",
              "MPI_File_close on world | closed view",
              "MPI_Type_free"};
    });

const Scenario kDerived(
    "MpiFileWrite.OfADerivedTypeCountsWhatIsInIt",
    [](const Who& me) {
      std::array<int, 12> values{};
      MPI_Datatype pairs;
      MPI_Type_vector(3, 2, 4, MPI_INT, &pairs);
      MPI_Type_commit(&pairs);
      const MPI_File file = open_file("derived");
      MPI_File_write_at(file, 24 * me.rank, values.data(), 1, pairs, MPI_STATUS_IGNORE);
      MPI_File_read_at(file, 24 * me.rank, values.data(), 1, pairs, MPI_STATUS_IGNORE);
      close_file(file);
      MPI_Type_free(&pairs);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Type_vector",
              "MPI_Type_commit",
              "MPI_File_open on world | opened derived",
              text("MPI_File_write_at on world | write derived at %d bytes 24", 24 * me.rank),
              text("MPI_File_read_at on world | read derived at %d bytes 24", 24 * me.rank),
              "MPI_File_close on world | closed derived",
              "MPI_Type_free"};
    });

const Scenario kLarge(
    "MpiFileWriteAt.FarOutHasItsWholeOffset",
    [](const Who& me) {
      char value = 1;
      const MPI_File file = open_file("sparse");
      MPI_File_write_at(file, (MPI_Offset{1} << 33) + me.rank, &value, 1, MPI_CHAR,
                        MPI_STATUS_IGNORE);
      MPI_File_read_at(file, (MPI_Offset{1} << 33) + me.rank, &value, 1, MPI_CHAR,
                       MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {
          "MPI_File_open on world | opened sparse",
          text("MPI_File_write_at on world | write sparse at %lld bytes 1", (1LL << 33) + me.rank),
          text("MPI_File_read_at on world | read sparse at %lld bytes 1", (1LL << 33) + me.rank),
          "MPI_File_close on world | closed sparse"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
