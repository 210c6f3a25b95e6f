#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

/// Fortran's three interfaces: what is recorded of a call is what is recorded of C's.
#define MEGASCOPE_BODIES(interface)                         \
  extern "C" void messages_##interface(int rank, int size); \
  extern "C" void together_##interface(int rank, int size); \
  extern "C" void mistakes_##interface(int rank, int size);
MEGASCOPE_BODIES(mpifh)
MEGASCOPE_BODIES(usempi)
MEGASCOPE_BODIES(f08)

namespace megascope::mpitest {
namespace {

Lines messages(const Who& me) {
  const int to = me.next();
  const int from = me.previous();
  return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created the ring",
          "MPI_Comm_set_name on the ring",
          "MPI_Comm_get_name on the ring",
          text("MPI_Irecv on the ring | irecv r1 from %d tag 7 space 16", from),
          text("MPI_Isend on the ring | isend r2 to %d tag 7 bytes 16", to),
          text("MPI_Waitall | received r1 in the ring from %d tag 7 bytes 16; sent r2", from),
          "MPI_Irecv on the ring | irecv r3 from any tag any space 16",
          text("MPI_Send on the ring | send to %d tag 9 bytes 12", to),
          text("MPI_Waitany | received r3 in the ring from %d tag 9 bytes 12", from),
          text("MPI_Sendrecv on the ring | send to %d tag 1 bytes 16; recv from %d tag 1 bytes 16",
               to, from),
          text("MPI_Irecv on the ring | irecv r4 from %d tag 11 space 16", from),
          text("MPI_Issend on the ring | isend r5 to %d tag 11 bytes 8", to),
          text("MPI_Waitall | received r4 in the ring from %d tag 11 bytes 8; sent r5", from),
          "MPI_Iprobe on the ring",
          text("MPI_Isend on the ring | isend r6 to %d tag 13 bytes 4", to),
          text("MPI_Probe on the ring | found from %d tag 13 bytes 4", from),
          text("MPI_Mprobe on the ring | matched r7 from %d tag 13 bytes 4", from),
          text("MPI_Mrecv on the ring | recv r7 from %d tag 13 bytes 4", from),
          "MPI_Wait | sent r6",
          text("MPI_Send_init on the ring | init r8 peer %d tag 15 bytes 8", to),
          text("MPI_Recv_init on the ring | init r9 peer %d tag 15 bytes 8", from),
          text("MPI_Startall on the ring | isend r10 to %d tag 15 bytes 8; irecv r11 from %d tag "
               "15 space 8",
               to, from)};
}

/// What comes after: the completions may come in one call or in two.
void check_messages(const Recorded& run) {
  for (int rank = 0; rank < run.rank_count(); ++rank) {
    const Lines& lines = run.lines(rank);
    const Lines expected = messages({rank, run.rank_count()});
    ASSERT_GT(lines.size(), expected.size() + 3);
    std::string completions;
    for (std::size_t i = expected.size(); i + 3 < lines.size(); ++i) {
      EXPECT_TRUE(lines[i].starts_with("MPI_Waitsome | ")) << lines[i];
      completions += lines[i];
    }
    EXPECT_NE(completions.find("sent r10"), std::string::npos) << completions;
    EXPECT_NE(completions.find("received r11"), std::string::npos) << completions;
    EXPECT_EQ(lines.back(), "MPI_Comm_free on the ring | ended the ring");
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(lines[i], expected[i]) << "rank " << rank;
  }
}

Lines together(const Who& me) {
  const int others = me.size - 1;
  return {
      text("MPI_Allreduce on world | coll #0 sent %d received %d", 16 * others, 16 * others),
      text("MPI_Bcast on world | coll #1 root %d sent %d received 8", me.size - 1,
           me.rank == me.size - 1 ? 8 * me.size : 0),
      text("MPI_Alltoallw on world | coll #2 sent %d received %d", 4 * me.size, 4 * me.size),
      text("MPI_Iallreduce on world | icoll r1 #3 sent %d received %d", 16 * me.size, 16 * me.size),
      text("MPI_Wait | done r1 in world #3 sent %d received %d", 16 * me.size, 16 * me.size),
      "MPI_Cart_create on world | coll #4 sent 0 received 0; created MPI_Cart_create",
      "MPI_Neighbor_allgather on MPI_Cart_create | coll #0 sent 8 received 8",
      "MPI_Comm_free on MPI_Cart_create | ended MPI_Cart_create",
      "MPI_File_open on world | opened written",
      text("MPI_File_write_at on world | write written at %d bytes 16", 16 * me.rank),
      "MPI_File_close on world | closed written"};
}

/// "MPI_Cart_create #7 of MPI_COMM_WORLD": how many there were before does not matter.
void check_together(const Recorded& run) {
  for (int rank = 0; rank < run.rank_count(); ++rank) {
    Lines lines = run.lines(rank);
    for (std::string& line : lines) {
      const std::string made = "MPI_Cart_create #";
      for (std::size_t at = line.find(made); at != std::string::npos; at = line.find(made, at)) {
        const std::size_t end = line.find("MPI_COMM_WORLD", at) + 14;
        line.replace(at, end - at, "MPI_Cart_create");
      }
    }
    const Lines expected = together({rank, run.rank_count()});
    ASSERT_EQ(lines.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(lines[i], expected[i]) << "rank " << rank;
  }
}

Lines mistakes(const Who&) {
  return {"MPI_Comm_set_errhandler on world", text("MPI_Send on world | error %d", MPI_ERR_RANK),
          "MPI_Comm_set_errhandler on world"};
}

/// MPICH's procedures call C's functions; not those of `use mpi_f08`, which no library sees there.
std::vector<int> ranks_of(bool is_f08) {
  return on_ranks_of({1, 2, 4}, is_f08 ? std::vector<int>{} : std::vector<int>{1, 2, 4});
}

#define MEGASCOPE_SCENARIOS(interface, suite, is_f08)                                           \
  const Scenario kMessages_##interface(                                                         \
      #suite ".RecordsMessagesAsInC",                                                           \
      [](const Who& me) { messages_##interface(me.rank, me.size); }, nullptr, ranks_of(is_f08), \
      check_messages);                                                                          \
  const Scenario kTogether_##interface(                                                         \
      #suite ".RecordsCollectivesAndFilesAsInC",                                                \
      [](const Who& me) { together_##interface(me.rank, me.size); }, nullptr, ranks_of(is_f08), \
      check_together);                                                                          \
  const Scenario kMistakes_##interface(                                                         \
      #suite ".TellsErrors", [](const Who& me) { mistakes_##interface(me.rank, me.size); },     \
      mistakes, ranks_of(is_f08));

MEGASCOPE_SCENARIOS(mpifh, FortranMpifh, false)
MEGASCOPE_SCENARIOS(usempi, FortranUseMpi, false)
MEGASCOPE_SCENARIOS(f08, FortranUseMpiF08, true)

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
