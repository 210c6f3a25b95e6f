#include "plugin/live/model/call_table.h"

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

using capture::CallSums;

CallSums sends(std::int64_t index, std::uint64_t calls, std::int32_t to = 1) {
  return {.index = index,
          .elapsed_ms = 500.0 * static_cast<double>(index),
          .names = "MPI_Send\n",
          .functions = {{.calls = calls,
                         .time_ms = static_cast<double>(calls),
                         .bytes_sent = 8 * calls}},
          .peers = {{.world_rank = to, .messages = calls, .bytes = 8 * calls}}};
}

TEST(CallTable, SumsAreOfAllRanksAndTheNewestIntervalIsApart) {
  CallTable table;
  table.add(0, 2, sends(1, 10));
  table.add(1, 2, sends(1, 5, 0));
  table.add(0, 2, sends(2, 13));
  ASSERT_EQ(table.functions().size(), 1U);
  EXPECT_EQ(table.functions()[0].name, "MPI_Send");
  EXPECT_EQ(table.functions()[0].total.calls, 18U);
  EXPECT_EQ(table.functions()[0].total.bytes_sent, 144U);
  EXPECT_EQ(table.functions()[0].newest.calls, 8U) << "3 of rank 0, 5 of rank 1";
  EXPECT_THAT(table.bytes(), testing::ElementsAre(0, 104, 40, 0));
  EXPECT_THAT(table.messages(), testing::ElementsAre(0, 13, 5, 0));
  EXPECT_EQ(table.ranks()[0].mpi_ms, 13.0);
  EXPECT_EQ(table.ranks()[0].elapsed_ms, 1000.0);
}

TEST(CallTable, AnUpdateThatIsLostLosesNothing) {
  CallTable table;
  table.add(0, 2, sends(1, 10));
  table.add(0, 2, sends(5, 40));
  EXPECT_EQ(table.functions()[0].total.calls, 40U);
  EXPECT_EQ(table.bytes()[1], 320.0);
}

TEST(CallTable, WhatCannotBeIsIgnored) {
  CallTable table;
  table.add(0, 2, sends(1, 10));
  table.add(0, 2, sends(2, 3));
  table.add(-1, 2, sends(2, 50));
  table.add(2, 2, sends(2, 50));
  CallSums other = sends(3, 10);
  other.peers[0].world_rank = 77;
  other.functions[0].time_ms = -1.0;
  table.add(1, 2, other);
  EXPECT_EQ(table.functions()[0].total.calls, 10U);
  EXPECT_THAT(table.bytes(), testing::ElementsAre(0, 80, 0, 0));
}

TEST(CallTable, ManyRanksShareCells) {
  constexpr std::uint32_t kRanks = 1000;
  CallTable table;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(kRanks); ++rank)
    table.add(rank, kRanks, sends(1, 1, (rank + 1) % static_cast<std::int32_t>(kRanks)));
  EXPECT_EQ(table.cell_ranks(), 4U);
  EXPECT_EQ(table.cells(), 250U);
  EXPECT_EQ(table.bytes()[0], 24.0) << "ranks 0 to 2 to their neighbours";
  EXPECT_EQ(table.bytes()[1], 8.0) << "rank 3 to rank 4";
  double sum = 0.0;
  for (const double bytes : table.bytes()) sum += bytes;
  EXPECT_EQ(sum, 8.0 * kRanks);
}

}  // namespace
}  // namespace megascope::live
