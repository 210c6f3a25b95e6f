#include "tests/mpi/files.h"
#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>

/// Nonblocking reads and writes, and the calls that complete them.
namespace megascope::mpitest {
namespace {

using AtPointer = int (*)(MPI_File, const void*, int, MPI_Datatype, MPI_Request*);
using AtOffset = int (*)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Request*);

int iread(MPI_File file, const void* to, int count, MPI_Datatype type, MPI_Request* request) {
  return MPI_File_iread(file, const_cast<void*>(to), count, type, request);
}
int iread_all(MPI_File file, const void* to, int count, MPI_Datatype type, MPI_Request* request) {
  return MPI_File_iread_all(file, const_cast<void*>(to), count, type, request);
}
int iread_shared(MPI_File file, const void* to, int count, MPI_Datatype type,
                 MPI_Request* request) {
  return MPI_File_iread_shared(file, const_cast<void*>(to), count, type, request);
}
int iread_at(MPI_File file, MPI_Offset at, const void* to, int count, MPI_Datatype type,
             MPI_Request* request) {
  return MPI_File_iread_at(file, at, const_cast<void*>(to), count, type, request);
}
int iread_at_all(MPI_File file, MPI_Offset at, const void* to, int count, MPI_Datatype type,
                 MPI_Request* request) {
  return MPI_File_iread_at_all(file, at, const_cast<void*>(to), count, type, request);
}

/// 24 bytes written, or read after that, by one request. Bytes for every rank's own pointer, and
/// for a common one.
void one_request(const Who& me, const char* name, AtPointer start, bool is_read) {
  std::array<int, 6> values{};
  const MPI_File file = open_file(name);
  if (is_read) MPI_File_write_at(file, 24 * me.rank, values.data(), 6, MPI_INT, MPI_STATUS_IGNORE);
  if (is_read) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  start(file, values.data(), 6, MPI_INT, &request);
  MPI_Status status;
  MPI_Wait(&request, is_read ? MPI_STATUS_IGNORE : &status);
  close_file(file);
}
void one_request(const Who& me, const char* name, AtOffset start) {
  std::array<int, 6> values{};
  const MPI_File file = open_file(name);
  MPI_File_write_at(file, 24 * me.rank, values.data(), 6, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Request request;
  start(file, 24 * me.rank, values.data(), 6, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  close_file(file);
}

Lines pointer_lines(const Who& me, const std::string& name, const std::string& function,
                    const std::string& all = "") {
  const bool is_read = function.find("iread") != std::string::npos;
  Lines lines{"MPI_File_open on world | opened " + name};
  if (is_read) {
    lines.push_back("MPI_File_write_at on world | write " + name +
                    text(" at %d bytes 24", 24 * me.rank));
    lines.emplace_back("MPI_Barrier on world | coll #0 sent 0 received 0");
  }
  lines.push_back(function + " on world | " + (is_read ? "iread" : "iwrite") + " r1 " + name + all +
                  " bytes 24");
  lines.push_back(std::string("MPI_Wait | ") + (is_read ? "got" : "put") + " r1 " + name + all +
                  " bytes 24 in world");
  lines.push_back("MPI_File_close on world | closed " + name);
  return lines;
}
Lines offset_lines(const Who& me, const std::string& name, const std::string& function,
                   const std::string& all = "") {
  const bool is_read = function.find("iread") != std::string::npos;
  const std::string what = " r1 " + name + text(" at %d", 24 * me.rank) + all + " bytes 24";
  return {"MPI_File_open on world | opened " + name,
          "MPI_File_write_at on world | write " + name + text(" at %d bytes 24", 24 * me.rank),
          function + " on world | " + (is_read ? "iread" : "iwrite") + what,
          std::string("MPI_Wait | ") + (is_read ? "got" : "put") + what + " in world",
          "MPI_File_close on world | closed " + name};
}

const Scenario kIwrite(
    "MpiFileIwrite.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iwrite", MPI_File_iwrite, false); },
    [](const Who& me) { return pointer_lines(me, "iwrite", "MPI_File_iwrite"); });
const Scenario kIwriteAll(
    "MpiFileIwriteAll.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iwrite_all", MPI_File_iwrite_all, false); },
    [](const Who& me) { return pointer_lines(me, "iwrite_all", "MPI_File_iwrite_all", " all"); });
const Scenario kIwriteShared(
    "MpiFileIwriteShared.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iwrite_shared", MPI_File_iwrite_shared, false); },
    [](const Who& me) { return pointer_lines(me, "iwrite_shared", "MPI_File_iwrite_shared"); });
const Scenario kIread(
    "MpiFileIread.IsCompletedByAWait", [](const Who& me) { one_request(me, "iread", iread, true); },
    [](const Who& me) { return pointer_lines(me, "iread", "MPI_File_iread"); });
const Scenario kIreadAll(
    "MpiFileIreadAll.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iread_all", iread_all, true); },
    [](const Who& me) { return pointer_lines(me, "iread_all", "MPI_File_iread_all", " all"); });
const Scenario kIreadShared(
    "MpiFileIreadShared.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iread_shared", iread_shared, true); },
    [](const Who& me) { return pointer_lines(me, "iread_shared", "MPI_File_iread_shared"); });
const Scenario kIwriteAt(
    "MpiFileIwriteAt.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iwrite_at", MPI_File_iwrite_at); },
    [](const Who& me) { return offset_lines(me, "iwrite_at", "MPI_File_iwrite_at"); });
const Scenario kIwriteAtAll(
    "MpiFileIwriteAtAll.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iwrite_at_all", MPI_File_iwrite_at_all); },
    [](const Who& me) {
      return offset_lines(me, "iwrite_at_all", "MPI_File_iwrite_at_all", " all");
    });
const Scenario kIreadAt(
    "MpiFileIreadAt.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iread_at", iread_at); },
    [](const Who& me) { return offset_lines(me, "iread_at", "MPI_File_iread_at"); });
const Scenario kIreadAtAll(
    "MpiFileIreadAtAll.IsCompletedByAWait",
    [](const Who& me) { one_request(me, "iread_at_all", iread_at_all); },
    [](const Who& me) {
      return offset_lines(me, "iread_at_all", "MPI_File_iread_at_all", " all");
    });

/// Four requests of 1 to 4 bytes each.
struct Four {
  explicit Four(const char* name) : file(open_file(name)) {
    for (int i = 0; i < 4; ++i)
      MPI_File_iwrite_at(file, i, bytes.data(), i + 1, MPI_BYTE, &requests[at(i)]);
  }
  std::array<char, 4> bytes{};
  std::array<MPI_Request, 4> requests{};
  MPI_File file;
};

Lines four_lines(const std::string& name) {
  Lines lines{"MPI_File_open on world | opened " + name};
  for (int i = 0; i < 4; ++i) {
    lines.push_back(text("MPI_File_iwrite_at on world | iwrite r%d ", i + 1) + name +
                    text(" at %d bytes %d", i, i + 1));
  }
  return lines;
}
std::string put(int index, const std::string& name) {
  return text("put r%d ", index) + name + text(" at %d bytes %d in world", index - 1, index);
}
Lines with(Lines lines, const std::string& name, const Lines& last) {
  lines.insert(lines.end(), last.begin(), last.end());
  lines.push_back("MPI_File_close on world | closed " + name);
  return lines;
}

const Scenario kWaitall(
    "MpiWaitall.CompletesWrites",
    [](const Who&) {
      Four four("waitall");
      MPI_Waitall(4, four.requests.data(), MPI_STATUSES_IGNORE);
      close_file(four.file);
    },
    [](const Who&) {
      return with(four_lines("waitall"), "waitall",
                  {"MPI_Waitall | " + put(1, "waitall") + "; " + put(2, "waitall") + "; " +
                   put(3, "waitall") + "; " + put(4, "waitall")});
    });

const Scenario kBeside(
    "MpiWaitall.CompletesWritesBesideMessages",
    [](const Who& me) {
      int out = 1;
      int in = 0;
      std::array<MPI_Request, 3> requests;
      const MPI_File file = open_file("beside");
      MPI_Irecv(&in, 1, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, requests.data());
      MPI_File_iwrite_at(file, 4 * me.rank, &out, 1, MPI_INT, &requests[1]);
      MPI_Isend(&out, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD, &requests[2]);
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
      close_file(file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened beside",
              text("MPI_Irecv on world | irecv r1 from %d tag 2 space 4", me.previous()),
              text("MPI_File_iwrite_at on world | iwrite r2 beside at %d bytes 4", 4 * me.rank),
              text("MPI_Isend on world | isend r3 to %d tag 2 bytes 4", me.next()),
              text("MPI_Waitall | received r1 in world from %d tag 2 bytes 4; put r2 beside at %d "
                   "bytes 4 in world; sent r3",
                   me.previous(), 4 * me.rank),
              "MPI_File_close on world | closed beside"};
    });

/// Which ones complete, and in how many calls, is up to MPI: each request completes once.
void check_each_completes_once(const Recorded& run, const std::string& name) {
  for (int rank = 0; rank < run.rank_count(); ++rank) {
    std::string all;
    for (const std::string& line : run.lines(rank)) all += line + "\n";
    for (int i = 1; i <= 4; ++i) {
      const std::string once = put(i, name);
      const std::size_t first = all.find(once);
      EXPECT_NE(first, std::string::npos) << once << " of rank " << rank << " in\n" << all;
      EXPECT_EQ(all.find(once, first + 1), std::string::npos)
          << once << " of rank " << rank << " in\n"
          << all;
    }
  }
}

const Scenario kWaitany(
    "MpiWaitany.CompletesWrites",
    [](const Who&) {
      Four four("waitany");
      int index = 0;
      for (int i = 0; i < 4; ++i) MPI_Waitany(4, four.requests.data(), &index, MPI_STATUS_IGNORE);
      close_file(four.file);
    },
    nullptr, {1, 2, 4}, [](const Recorded& run) { check_each_completes_once(run, "waitany"); });
const Scenario kWaitsome(
    "MpiWaitsome.CompletesWrites",
    [](const Who&) {
      Four four("waitsome");
      std::array<int, 4> indices;
      for (int done = 0, count = 0; done < 4; done += count) {
        MPI_Waitsome(4, four.requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      }
      close_file(four.file);
    },
    nullptr, {1, 2, 4}, [](const Recorded& run) { check_each_completes_once(run, "waitsome"); });
const Scenario kTests(
    "MpiTest.CompletesWrites",
    [](const Who&) {
      Four four("tests");
      std::array<int, 4> indices;
      int flag = 0;
      while (flag == 0) MPI_Test(four.requests.data(), &flag, MPI_STATUS_IGNORE);
      flag = 0;
      int index = 0;
      while (flag == 0) MPI_Testany(2, four.requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      int count = 0;
      while (count == 0)
        MPI_Testsome(3, four.requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      flag = 0;
      while (flag == 0) MPI_Testall(4, four.requests.data(), &flag, MPI_STATUSES_IGNORE);
      close_file(four.file);
    },
    nullptr, {1, 2, 4}, [](const Recorded& run) { check_each_completes_once(run, "tests"); });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
