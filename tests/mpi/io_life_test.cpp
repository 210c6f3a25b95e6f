#include "tests/mpi/files.h"
#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Files from opening to deletion: handles, communicators, sizes, questions about them, errors.
namespace megascope::mpitest {
namespace {

const Scenario kQuestions(
    "MpiFileGetSize.AndOtherQuestionsNameTheFile",
    [](const Who&) {
      const MPI_File file = open_file("asked");
      MPI_File_set_size(file, 100);
      MPI_File_preallocate(file, 200);
      MPI_Offset size = 0;
      MPI_File_get_size(file, &size);
      expect(size == 200, "the size");
      MPI_File_sync(file);
      int value = 0;
      MPI_File_get_amode(file, &value);
      expect(value == kReadWrite, "the mode");
      MPI_Group group;
      MPI_File_get_group(file, &group);
      MPI_Group_free(&group);
      MPI_Info info;
      MPI_File_get_info(file, &info);
      MPI_File_set_info(file, info);
      MPI_Info_free(&info);
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on world | opened asked",
              "MPI_File_set_size on world | size asked 100",
              "MPI_File_preallocate on world | size asked 200",
              "MPI_File_get_size on world | size asked 200",
              "MPI_File_sync on world | sync asked",
              text("MPI_File_get_amode on world | uses asked {access_mode %d}", kReadWrite),
              "MPI_File_get_group on world | uses asked",
              "MPI_Group_free",
              "MPI_File_get_info on world | uses asked",
              "MPI_File_set_info on world | uses asked",
              "MPI_Info_free",
              "MPI_File_close on world | closed asked"};
    });

/// Open MPI 4.1 refuses it at random on more than one rank.
const Scenario kAtomicity(
    "MpiFileSetAtomicity.NamesTheFile",
    [](const Who& me) {
      const MPI_File file = open_file(text("atomic%d", me.rank).c_str(), MPI_COMM_SELF);
      MPI_File_set_atomicity(file, 1);
      int value = 0;
      MPI_File_get_atomicity(file, &value);
      expect(value == 1, "atomicity");
      close_file(file);
    },
    [](const Who& me) -> Lines {
      const std::string name = text("atomic%d", me.rank);
      return {"MPI_File_open on self | opened " + name,
              "MPI_File_set_atomicity on self | uses " + name + " {atomicity 1}",
              "MPI_File_get_atomicity on self | uses " + name + " {atomicity 1}",
              "MPI_File_close on self | closed " + name};
    });

int g_seen_errors = 0;
void count_error(MPI_File*, int*, ...) { ++g_seen_errors; }

const Scenario kErrorHandler(
    "MpiFileCallErrhandler.NamesTheFile",
    [](const Who&) {
      const MPI_File file = open_file("handled");
      MPI_Errhandler handler;
      MPI_File_create_errhandler(count_error, &handler);
      MPI_File_set_errhandler(file, handler);
      MPI_File_call_errhandler(file, MPI_ERR_IO);
      expect(g_seen_errors == 1, "the error handler");
      MPI_Errhandler got;
      MPI_File_get_errhandler(file, &got);
      MPI_Errhandler_free(&got);
      MPI_Errhandler_free(&handler);
      MPI_File_get_errhandler(MPI_FILE_NULL, &got);
      MPI_Errhandler_free(&got);
      close_file(file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_open on world | opened handled",
              "MPI_File_create_errhandler",
              "MPI_File_set_errhandler on world | uses handled",
              text("MPI_File_call_errhandler on world | uses handled {error_code %d}", MPI_ERR_IO),
              "MPI_File_get_errhandler on world | uses handled",
              "MPI_Errhandler_free",
              "MPI_Errhandler_free",
              "MPI_File_get_errhandler",
              "MPI_Errhandler_free",
              "MPI_File_close on world | closed handled"};
    });

const Scenario kSelf(
    "MpiFileOpen.OnCommSelfIsEveryRanksOwn",
    [](const Who& me) {
      char value = 2;
      const std::string name = text("own%d", me.rank);
      const MPI_File file = open_file(name.c_str(), MPI_COMM_SELF);
      MPI_File_write(file, &value, 1, MPI_CHAR, MPI_STATUS_IGNORE);
      close_file(file);
      MPI_File_delete(name.c_str(), MPI_INFO_NULL);
    },
    [](const Who& me) -> Lines {
      const std::string name = text("own%d", me.rank);
      return {"MPI_File_open on self | opened " + name,
              "MPI_File_write on self | write " + name + " bytes 1",
              "MPI_File_close on self | closed " + name, "MPI_File_delete | deleted " + name};
    });

const Scenario kParts(
    "MpiFileOpen.OnPartsOfTheWorldIsOnTheirCommunicator",
    [](const Who& me) {
      MPI_Comm part;
      MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, 0, &part);
      MPI_Comm_set_name(part, "part");
      char value = 2;
      const MPI_File file = open_file(me.rank % 2 == 0 ? "even" : "odd", part);
      MPI_Comm_free(&part);
      MPI_File_write_at_all(file, me.rank / 2, &value, 1, MPI_CHAR, MPI_STATUS_IGNORE);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      const std::string name = me.rank % 2 == 0 ? "even" : "odd";
      return {
          "MPI_Comm_split on world | coll #0 sent 0 received 0; created part",
          "MPI_Comm_set_name on part",
          "MPI_File_open on part | opened " + name,
          "MPI_Comm_free on part | ended part",
          "MPI_File_write_at_all on part | write " + name + text(" at %d all bytes 1", me.rank / 2),
          "MPI_File_close on part | closed " + name};
    },
    {2, 4});

const Scenario kTwice(
    "MpiFileOpen.AgainIsAnotherHandle",
    [](const Who&) {
      for (int round = 0; round < 3; ++round) {
        const MPI_File first = open_file("again");
        const MPI_File second = open_file("again");
        MPI_File_sync(second);
        close_file(first);
        MPI_File_sync(second);
        close_file(second);
      }
    },
    [](const Who&) -> Lines {
      Lines lines;
      for (int round = 0; round < 3; ++round) {
        for (const char* line :
             {"MPI_File_open on world | opened again", "MPI_File_open on world | opened again",
              "MPI_File_sync on world | sync again", "MPI_File_close on world | closed again",
              "MPI_File_sync on world | sync again", "MPI_File_close on world | closed again"}) {
          lines.emplace_back(line);
        }
      }
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        std::vector<FileId> ids;
        for (const FileDefinition& file : run.process(rank).files) {
          if (file.name == "again") ids.push_back(file.id);
        }
        EXPECT_EQ(ids.size(), 6u) << "openings of rank " << rank;
      }
    });

const Scenario kErrors(
    "MpiFileOpen.ThatFailsLeavesOnlyItsError",
    [](const Who&) {
      MPI_File file = MPI_FILE_NULL;
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      int rc = MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
      expect(error_class(rc) == MPI_ERR_NO_SUCH_FILE, "a missing file");
      rc = MPI_File_open(MPI_COMM_NULL, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
      expect(rc != MPI_SUCCESS, "no communicator");
      expect(MPI_File_delete("missing", MPI_INFO_NULL) != MPI_SUCCESS, "deleting a missing file");
      const MPI_File written = open_file("present");
      close_file(written);
      const MPI_File read = open_file("present", MPI_COMM_WORLD, MPI_MODE_RDONLY);
      int value = 0;
      expect(MPI_File_write(read, &value, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
             "writing to a read-only file");
      MPI_File_read_at(read, -4, &value, 1, MPI_INT,
                       MPI_STATUS_IGNORE);  // Open MPI: success, and a count of -1
      expect(MPI_File_read(read, &value, -1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
             "a negative count");
      expect(MPI_File_read(read, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS,
             "no type");
      MPI_Request request = MPI_REQUEST_NULL;
      expect(MPI_File_iwrite(read, &value, 1, MPI_INT, &request) != MPI_SUCCESS,
             "a request on a read-only file");
      close_file(read);
      expect(MPI_File_write(MPI_FILE_NULL, &value, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
             "no file");
      MPI_Offset size = 0;
      expect(MPI_File_get_size(MPI_FILE_NULL, &size) != MPI_SUCCESS, "no file");
    },
    [](const Who&) -> Lines {
      const auto error = [](const char* call, int code) {
        return call + text(" | error %d", code);
      };
      return {"MPI_Comm_set_errhandler on world",
              error("MPI_File_open on world", MPI_ERR_NO_SUCH_FILE),
              error("MPI_File_open", MPI_ERR_COMM),
              error("MPI_File_delete", MPI_ERR_NO_SUCH_FILE),
              "MPI_File_open on world | opened present",
              "MPI_File_close on world | closed present",
              "MPI_File_open on world | opened present",
              error("MPI_File_write on world", MPI_ERR_READ_ONLY),
              "MPI_File_read_at on world | read present bytes 0/4",
              error("MPI_File_read on world", MPI_ERR_COUNT),
              error("MPI_File_read on world", MPI_ERR_TYPE),
              error("MPI_File_iwrite on world", MPI_ERR_READ_ONLY),
              "MPI_File_close on world | closed present",
              error("MPI_File_write", MPI_ERR_FILE),
              error("MPI_File_get_size", MPI_ERR_FILE)};
    },
    on_ranks_of({1, 2, 4}, {}));  // MPICH refuses more, by other codes

const Scenario kAfterFailure(
    "MpiFileOpen.AfterOneThatFailedHasOneNameInAllMembers",  // checked for every run
    [](const Who& me) {
      MPI_File file = MPI_FILE_NULL;
      if (me.rank == 0)
        MPI_File_open(MPI_COMM_WORLD, "after", kReadWrite, MPI_Info{},
                      &file);  // refused: no other rank
      file = open_file("after");
      close_file(file);
    },
    [](const Who& me) -> Lines {
      Lines lines{"MPI_File_open on world | opened after",
                  "MPI_File_close on world | closed after"};
      if (me.rank == 0)
        lines.insert(lines.begin(),
                     "MPI_File_open on world | error " + std::to_string(MPI_ERR_INFO));
      return lines;
    },
    on_ranks_of({1, 2, 4}, {}));  // MPICH lets the opening fail in all members

const Scenario kUnseen(
    "MpiFileWrite.ToAFileWhoseOpeningWasNotSeenIsToldWithoutItsName",
    [](const Who&) {
      MPI_File file = MPI_FILE_NULL;
      PMPI_File_open(MPI_COMM_WORLD, "unseen", kReadWrite, MPI_INFO_NULL, &file);
      int value = 0;
      MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_sync(file);
      PMPI_File_close(&file);
    },
    [](const Who&) -> Lines {
      return {"MPI_File_write_at | write (opening not seen) at 0 bytes 4",
              "MPI_File_sync | sync (opening not seen)"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
