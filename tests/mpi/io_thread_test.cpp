#include "tests/mpi/files.h"
#include "tests/mpi/threads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

/// Files under MPI_THREAD_MULTIPLE: handles that come back in other threads, requests and split
/// collectives that end in another thread than they began in.
namespace megascope::mpitest {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 40;

std::string own_name(int rank, int thread) { return text("thread%d.%d", rank, thread); }

const Scenario kOwn(
    "MpiFileOpen.InSeveralThreadsTellsEachItsOwnFile",
    [](const Who& me) {
      std::array<MPI_Comm, kThreads> selves{};
      for (MPI_Comm& self : selves) MPI_Comm_dup(MPI_COMM_SELF, &self);
      in_threads(kThreads, [&](int t) {
        for (int round = 0; round < kRounds; ++round) {
          const MPI_File file = open_file(own_name(me.rank, t).c_str(), selves[at(t)]);
          std::array<char, 8> bytes{};
          MPI_File_write_at(file, round, bytes.data(), t + 1, MPI_CHAR, MPI_STATUS_IGNORE);
          close_file(file);
        }
      });
      for (MPI_Comm& self : selves) MPI_Comm_free(&self);
    },
    nullptr, on_ranks_of({1, 2}, {}),  // in MPICH 4.0 the first openings of two threads race
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        ASSERT_EQ(run.location_count(rank), std::size_t{kThreads + 1});
        for (int t = 0; t < kThreads; ++t) {
          const std::string name = own_name(rank, t);
          const std::string on = text(" on MPI_Comm_dup #%d of MPI_COMM_SELF", t + 1);
          Lines lines = {kFirstOfThread};
          for (int round = 0; round < kRounds; ++round) {
            lines.push_back("MPI_File_open" + on + " | opened " + name);
            lines.push_back("MPI_File_write_at" + on + " | write " + name +
                            text(" at %d bytes %d", round, t + 1));
            lines.push_back("MPI_File_close" + on + " | closed " + name);
          }
          EXPECT_EQ(run.lines(rank, at(t + 1)), lines) << "thread " << t << " of rank " << rank;
        }
      }
    });

MPI_File g_file;
std::array<MPI_Request, kRounds> g_requests;
std::array<char, 16> g_bytes;

const Scenario kElsewhere(
    "MpiFileIwrite.CompletedInAnotherThreadSaysAll",
    [](const Who&) {
      g_file = open_file("elsewhere", MPI_COMM_SELF);
      for (int i = 0; i < kRounds; ++i)
        MPI_File_iwrite_at(g_file, i, g_bytes.data(), 4, MPI_CHAR, &g_requests[at(i)]);
      MPI_File_write_at_all_begin(g_file, 100, g_bytes.data(), 5, MPI_CHAR);
      in_threads(1, [](int) {
        MPI_Waitall(kRounds, g_requests.data(), MPI_STATUSES_IGNORE);
        MPI_File_write_at_all_end(g_file, g_bytes.data(), MPI_STATUS_IGNORE);
      });
      close_file(g_file);
      MPI_File_delete("elsewhere", MPI_INFO_NULL);
    },
    nullptr, {1},
    [](const Recorded& run) {
      const Lines& lines = run.lines(0, 1);
      ASSERT_EQ(lines.size(), 3u);
      EXPECT_EQ(lines[2].substr(lines[2].find(" | ")),
                text(" | put r%d elsewhere at 100 all bytes 5", kRounds + 1));
      std::size_t count = 0;
      for (std::size_t found = lines[1].find("elsewhere at"); found != std::string::npos;
           found = lines[1].find("elsewhere at", found + 1)) {
        ++count;
      }
      EXPECT_EQ(count, std::size_t{kRounds}) << lines[1];
      EXPECT_EQ(lines[1].find("/"), std::string::npos) << "not all of its bytes: " << lines[1];
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  return megascope::mpitest::run_main(argc, argv, MPI_THREAD_MULTIPLE);
}
