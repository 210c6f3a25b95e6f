#include "core/record/file_fact.h"
#include "exporters/report/run_report.h"
#include "exporters/report/summary.h"
#include "tests/support/sample_process.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace megascope::report {
namespace {

using ::testing::HasSubstr;

/// A rank that wrote 100 bytes to each of some files of its own, and 1000 to one of all.
RunReport rank_with_files(std::int32_t rank, int own_files) {
  ProcessDefinitions definitions;
  definitions.info.world_rank = rank;
  definitions.info.world_size = 2;
  definitions.regions.resize(1);
  definitions.regions[0].id = 1;
  definitions.regions[0].name = "MPI_File_write";
  const auto add = [&](const std::string& name) {
    definitions.files.push_back(
        {.id = static_cast<FileId>(definitions.files.size()), .name = name});
  };
  add("/scratch/a directory with a name that is far too long for a column/common");
  for (int i = 0; i < own_files; ++i) add("own" + std::to_string(rank) + "." + std::to_string(i));
  Profile profile;
  profile.define(definitions);
  for (const FileDefinition& file : definitions.files) {
    const std::vector<Fact> facts = {transfer_fact(
        FactKind::kFileWrite, file.id, kNoComm, {kNoOffset, file.id == 0 ? 1000u : 100u, false})};
    profile.add({.enter_ns = 10, .leave_ns = 30 - file.id, .region = 1, .facts = facts});
  }
  return summarize(definitions, profile, {});
}

TEST(ReportFiles, AreSummedByNameOverRanks) {
  RunReport report = rank_with_files(0, 1);
  merge(report, rank_with_files(1, 1));
  ASSERT_EQ(report.files.size(), 3u);
  EXPECT_EQ(report.files[0].totals.ranks, 2u);
  EXPECT_EQ(report.files[0].totals.writes, 2u);
  EXPECT_EQ(report.files[0].totals.bytes_written, 2000u);
  EXPECT_EQ(report.files[0].totals.time, 40u);
  EXPECT_EQ(report.functions[0].totals.bytes_sent, 2200u);
  EXPECT_THAT(to_text(report), HasSubstr("Files by time, all ranks together\n"
                                         "  file                                  ranks  opens  "
                                         "reads  writes  read   written   time\n"
                                         "  ... far too long for a column/common      2      0     "
                                         " 0       2     .  1.95 KiB  40 ns\n"));
  EXPECT_THAT(to_json(report), HasSubstr("\"bytes_written\": 2000"));
}

TEST(ReportFiles, AFileIsNotThePeerOfAnUnfinishedCall) {
  test::SampleProcess process(0, 1);
  const Fact on_file{.kind = FactKind::kFileCollective, .comm = 0, .request = 3, .peer = 7};
  process.in("MPI_File_open", 10, 20, {on_file});
  process.in("MPI_Recv", 12, 20, {test::recv(2, 1)});
  const MemorySource run = test::make_source(1, {process});
  Profile profile;
  std::vector<PendingRow> pending;
  fold(run, 0, profile, pending);
  ASSERT_EQ(pending.size(), 2u);
  EXPECT_EQ(pending[0].peer, kNoPeer);
  EXPECT_EQ(pending[1].peer, 2);
}

}  // namespace
}  // namespace megascope::report
