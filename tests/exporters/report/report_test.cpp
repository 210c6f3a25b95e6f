#include "core/base/text_table.h"
#include "core/lifecycle/collective.h"
#include "exporters/report/nothing_recorded.h"
#include "exporters/report/run_report.h"
#include "exporters/report/summary.h"
#include "tests/exporters/report/sample_runs.h"
#include "tests/support/thread_collective.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace megascope::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

RunReport one_rank(std::int32_t rank, std::int32_t world_size, int steps) {
  const MemorySource run = sample_run(world_size, steps);
  Profile profile;
  RankFacts facts;
  facts.version = "0.1.0";
  fold(run, rank, profile, facts.pending);
  return summarize(run.process(rank), profile, facts);
}

RunReport merged_up(std::int32_t first, std::int32_t count, std::int32_t world_size) {
  RunReport report = one_rank(first, world_size, 3);
  for (std::int32_t rank = first + 1; rank < first + count; ++rank) {
    merge(report, one_rank(rank, world_size, 3));
  }
  return report;
}

std::vector<std::byte> bytes_of(const RunReport& report) {
  std::vector<std::byte> bytes;
  serialize(report, bytes);
  return bytes;
}

TEST(ReportOfSlurm, ReportsTheJobOnceAndTheNodeOfEachRank) {
  const auto rank_of_step = [](std::int32_t rank) {
    ProcessDefinitions definitions;
    definitions.info.world_rank = rank;
    definitions.info.world_size = 2;
    definitions.info.launcher = {{"SLURM_JOB_ID", std::to_string(17 + rank)},
                                 {"SLURM_NODEID", std::to_string(3 + rank)}};
    if (rank == 1) definitions.info.launcher.push_back({"SLURM_STEP_ID", "5"});
    return summarize(definitions, Profile(), {});
  };
  RunReport report = rank_of_step(0);
  merge(report, rank_of_step(1));
  RunReport travelled;
  ASSERT_TRUE(parse(bytes_of(report), travelled).is_ok());
  EXPECT_THAT(travelled.run.launcher,
              ElementsAre(LauncherFact{"SLURM_JOB_ID", "17"}, LauncherFact{"SLURM_STEP_ID", "5"}));
  EXPECT_EQ(travelled.ranks[0].step_node, 3);
  EXPECT_EQ(travelled.ranks[1].step_node, 4);
  EXPECT_THAT(to_json(travelled),
              HasSubstr("\"slurm\": {\n    \"job_id\": \"17\",\n    \"step_id\": \"5\"\n  }"));
}

TEST(Report, SumsTwoRanksByHand) {
  const RunReport report = sample_report(2, 10);
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_EQ(report.ranks[1], (RankRow{.world_rank = 1,
                                      .node = 1,
                                      .pid = 4001,
                                      .calls = 42,
                                      // start-up and 10 steps of which 2 ms are not computing
                                      .mpi_time_ns = 50'000'000 + 10 * 2'000'000,
                                      .startup_ns = 50'000'000,
                                      .wall_ns = 150'000'000,
                                      .thread_count = 1,
                                      .overhead_ns = 2'000'000,
                                      .trace_bytes = 65536,
                                      .end_state = EndState::kFinalized}));
  EXPECT_EQ(report.functions[0],
            (FunctionRow{"MPI_Allreduce",
                         RegionRole::kCollAllToAll,
                         {20, 10 * (5'497'000 + 1'497'000), 5'497'000, 160, 160}}));
  EXPECT_THAT(report.comms,
              ElementsAre(CommRow{CommRowKind::kComm,
                                  0xABCD,
                                  "MPI_COMM_WORLD",
                                  2,
                                  {60, 10 * (5'998'000 + 1'998'000), 5'497'000, 20'160, 20'160},
                                  {.sum = {10, report.comms[0].check.sum.hash, 10}, .ranks = 2}}));
  EXPECT_THAT(comms_that_differ(report), IsEmpty());
  EXPECT_THAT(report.pairs, ElementsAre(PairRow{0, 1, 10, 10'000}, PairRow{1, 0, 10, 10'000}));
  EXPECT_EQ(report.waits[0], (WaitRow{0, "MPI_Allreduce", "MPI_COMM_WORLD", 10, 54'970'000}));
}

TEST(Report, SumsTheUnpackedBytesOfTheTraces) {
  RunReport report;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    ProcessDefinitions definitions;
    definitions.info.world_rank = rank;
    definitions.info.world_size = 3;
    RankFacts facts;
    facts.unpacked_trace_bytes = std::uint64_t{1} << 32;
    RunReport travelled;
    ASSERT_TRUE(parse(bytes_of(summarize(definitions, Profile(), facts)), travelled).is_ok());
    merge(report, travelled);
  }
  EXPECT_EQ(report.unpacked_trace_bytes, std::uint64_t{3} << 32);
}

TEST(Report, ConvertsTicks) {
  ProcessDefinitions definitions;
  definitions.info.start_ticks = 800;
  definitions.info.clock.points = {{1000, 0, 5000}, {3000, 1000, 6000}};
  definitions.info.overhead_ticks = 500;
  Profile profile;
  profile.add({.enter_ns = 100, .leave_ns = 1100, .region = 1, .facts = {}});
  RankFacts facts;
  facts.ns_per_profile_unit = 0.5;
  const RunReport report = summarize(definitions, profile, facts);
  EXPECT_EQ(ns_per_tick(definitions.info), 0.5);
  EXPECT_EQ(report.ranks[0].mpi_time_ns, 500u);
  EXPECT_EQ(report.ranks[0].wall_ns, 500u);
  EXPECT_EQ(report.ranks[0].overhead_ns, 250u);
  EXPECT_EQ(report.start_realtime_ns, 4900);
}

TEST(Report, MergesInTreeOrderAsInLinearOrder) {
  RunReport tree = merged_up(0, 3, 8);
  RunReport right = merged_up(3, 2, 8);
  merge(right, merged_up(5, 3, 8));
  merge(tree, right);
  EXPECT_EQ(tree, merged_up(0, 8, 8));
  EXPECT_EQ(bytes_of(tree), bytes_of(merged_up(0, 8, 8)));
}

TEST(Report, MergesUpOverACollective) {
  RunReport at_root;
  test::run_members(5, [&at_root](Collective& collective) {
    RunReport report = one_rank(collective.rank(), 5, 3);
    if (collective.rank() == 0) report.conclusion.directory = "stays";
    const Status status = merge_up(collective, report);
    EXPECT_TRUE(status.is_ok()) << status.message();
    if (collective.rank() == 0) at_root = report;
  });
  RunReport expected = merged_up(0, 5, 5);
  expected.conclusion.directory = "stays";
  EXPECT_EQ(at_root, expected);
}

TEST(Report, KeepsTheLongestRowsAndTheSumsBeyondItsBounds) {
  RunReport report;
  for (std::uint64_t i = 0; i < kMaxComms + 10; ++i) {
    report.comms.push_back({CommRowKind::kComm, i + 1, "c", 2, {1, 100 + i, 100 + i, 0, 0}});
  }
  bound(report);
  ASSERT_EQ(report.comms.size(), kMaxComms);
  EXPECT_EQ(report.comms.front().global_name, 12u);  // the eleven with the least time are gone
  EXPECT_EQ(report.comms.back(),
            (CommRow{CommRowKind::kOthers, 0, kOthersName, 0, {11, 100 * 11 + 55, 110, 0, 0}}));
  RunReport again;
  ASSERT_TRUE(parse(bytes_of(report), again).is_ok());
  EXPECT_EQ(again, report);
}

RunReport with_collectives(std::int32_t rank, CollectiveSum sum) {
  RunReport report;
  report.world_size = 3;
  report.nodes = {"node"};
  report.ranks = {{.world_rank = rank, .end_state = EndState::kFinalized}};
  report.comms = {{.kind = CommRowKind::kComm,
                   .global_name = 7,
                   .name = "dp",
                   .size = 3,
                   .totals = {},
                   .check = {.sum = sum, .ranks = 1}}};
  return report;
}

TEST(Report, ReportsCommunicatorsOnWhichRanksCalledDifferentCollectives) {
  RunReport report = with_collectives(0, {5, 99, 5});
  merge(report, with_collectives(1, {5, 99, 5}));
  RunReport without_row = with_collectives(2, {});
  without_row.comms.clear();
  RunReport lacking = report;
  merge(lacking, without_row);
  EXPECT_EQ(comms_that_differ(lacking).size(), 1u) << "rank 2 made none";
  RunReport alike = report;
  EXPECT_EQ(comms_that_differ(alike).size(), 0u) << "of rank 2 nothing is known";
  merge(alike, with_collectives(2, {5, 99, 5}));
  EXPECT_EQ(comms_that_differ(alike).size(), 0u);
  merge(report, with_collectives(2, {5, 98, 5}));
  EXPECT_EQ(comms_that_differ(report).size(), 1u);
  RunReport again;
  ASSERT_TRUE(parse(bytes_of(report), again).is_ok());
  EXPECT_EQ(again, report);
  EXPECT_THAT(to_json(report), HasSubstr("\"collectives_differ\": true"));
  report.ranks[1].end_state = EndState::kRunning;
  EXPECT_EQ(comms_that_differ(report).size(), 0u) << "it did not come as far";
  RunReport chosen = with_collectives(0, {5, 99, 5});
  merge(chosen, with_collectives(1, {3, 98, 5}));
  EXPECT_EQ(comms_that_differ(chosen).size(), 0u) << "of two collectives nothing was recorded";
}

TEST(Report, RefusesBytesThatAreCutOrFollowedByMore) {
  const std::vector<std::byte> bytes = bytes_of(one_rank(1, 2, 2));
  RunReport report;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse(std::span(bytes).first(size), report).is_ok()) << size;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(parse(longer, report).message(), "report: damaged");
  EXPECT_EQ(report, RunReport());
}

TEST(Report, FitsTheScreenForAnyRun) {
  for (const std::int32_t ranks : {1, 2, 4, 8, 9, 1000}) {
    RunReport report = sample_report(ranks, 5);
    report.losses.fill(123456789);
    report.covers_all_calls = false;
    for (int i = 0; i < 40; ++i) {
      report.notes.push_back("note " + std::to_string(i) + std::string(150, 'x'));
      report.conclusion.exports.push_back(report.conclusion.exports[0]);
      report.functions.push_back({"MPI_Function_" + std::to_string(i), {}, {1, 1, 1, 1, 1}});
      report.pending.push_back({0, "MPI_Recv", "MPI_COMM_WORLD", 1, 5, 1'000'000});
      report.comms.push_back({CommRowKind::kComm, 1, "c", 2, {1, 1, 1, 0, 0}});
    }
    report.pending_count = 40;
    const std::vector<std::string> lines = lines_of(to_text(report));
    EXPECT_LE(lines.size(), 60u) << ranks;
    for (const std::string& line : lines) EXPECT_LE(display_width(line), 100u) << line;
  }
}

TEST(Report, ShowsNamesOfProgramsHarmlessly) {
  RunReport report = sample_report(2, 5);
  report.run.programs = {
      "/opt/\x1b[31mred\n\xff solv\xc3\xa9r \xe2\x80\xae"
      "abc"};
  report.comms[0].name = std::string("a\tb\0c", 5);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("Program         /opt/?[31mred?? solv\xc3\xa9r ?abc\n"));
  EXPECT_THAT(text, HasSubstr("  a?b?c  "));
}

TEST(Report, SaysNothingWasRecordedWhenThereIsNoCall) {
  const std::string text = to_text(RunReport());
  EXPECT_EQ(text, nothing_recorded_text({}));
  EXPECT_LE(lines_of(text).size(), 60u);
  EXPECT_THAT(text, HasSubstr("statically linked"));
  NothingRecorded facts;
  facts.subject = "./app";
  facts.found = {NothingCause::kStaticProgram};
  facts.details = {"it names no loader"};
  EXPECT_EQ(
      nothing_recorded_text(facts),
      "MegaScope: nothing was recorded of ./app, because\n"
      "  - the program is statically linked, so LD_PRELOAD has no effect (it names no loader).\n"
      "    Link it dynamically (without -static).\n"
      "For more, run `megascope doctor -- COMMAND` and see the page that it names.\n");
  NothingRecorded possible;
  possible.excluded = {NothingCause::kStaticProgram};
  EXPECT_THAT(nothing_recorded_text(possible), Not(HasSubstr("statically linked")));
}

TEST(Report, NamesMissingRanksPendingCallsAndUnusualEnds) {
  RunReport report = one_rank(1, 6, 5);
  merge(report, one_rank(2, 6, 5));
  report.ranks[0].end_state = EndState::kRecovered;
  report.pending = {{1, "MPI_Recv", "MPI_COMM_WORLD", 4, 2'000'000'000, 3'000'000'000}};
  report.pending_count = 1;
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("\nMissing         4 of 6 ranks have no trace (0, 3-5)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nEnd             1 rank finished (2); 1 rank ended early, recovered (1)\n"));
  EXPECT_THAT(text, HasSubstr("     1  MPI_Recv  MPI_COMM_WORLD     4            2 s  3 s\n"));
  EXPECT_THAT(text, HasSubstr("The run ended inside 1 MPI call: see the pending calls below."));
}

std::string verdict_of(std::vector<std::uint64_t> mpi_ms) {
  RunReport report = sample_report(static_cast<std::int32_t>(mpi_ms.size()), 100);
  for (std::size_t i = 0; i < mpi_ms.size(); ++i) {
    report.ranks[i].wall_ns = 1'000'000'000;
    report.ranks[i].startup_ns = 0;
    report.ranks[i].mpi_time_ns = mpi_ms[i] * 1'000'000;
  }
  const std::string text = to_text(report);
  const std::size_t begin = text.find("\n                ", text.find("Time in MPI"));
  std::string verdict;
  for (const std::string& line : lines_of(text.substr(begin, text.find("\n\n", begin) - begin))) {
    if (!line.empty()) verdict += (verdict.empty() ? "" : " ") + line.substr(16);
  }
  return verdict;
}

TEST(Report, SaysNothingLostOnlyWhenEveryCounterIsZero) {
  RunReport report = sample_report(4, 200);
  report.losses = {};
  EXPECT_THAT(to_text(report), HasSubstr(", no records dropped"));
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    report.losses = {};
    report.losses[i] = 7;
    EXPECT_THAT(to_text(report), Not(HasSubstr("no records dropped"))) << kLossTexts[i].key;
    EXPECT_THAT(
        to_text(report),
        ContainsRegex("7 (records dropped|hook calls refused|regions or steps unbalanced) \\(see"))
        << i;
  }
  report.losses[static_cast<std::size_t>(LossCause::kBufferFull)] = 5;
  report.losses[static_cast<std::size_t>(LossCause::kRefused)] = 236'000;
  EXPECT_THAT(to_text(report), HasSubstr("236 k hook calls refused"));
}

TEST(Report, AccusesARankOnlyWhenTheFiguresDo) {
  EXPECT_EQ(verdict_of({400, 420, 410, 120}),
            "Ranks spend 34 % of their time in MPI; rank 3 the least (12 %), so the others "
            "probably wait for it.");
  EXPECT_EQ(verdict_of({400, 420, 410, 395}),
            "Ranks spend 41 % of their time in MPI, all about equally.");
  EXPECT_EQ(verdict_of({100, 200, 300, 400}),
            "Ranks spend 25 % of their time in MPI, from 10 % (rank 0) to 40 % (rank 3).");
  EXPECT_EQ(verdict_of({10, 20, 30, 5}),
            "MPI takes 1.6 % of the ranks' time: communication is not significant in this run.");
  EXPECT_EQ(verdict_of({300}), "The rank spends 30 % of its time in MPI.");
}

TEST(Verdict, EndsTheReportInCallSiteOfTheGuess) {
  RunReport report = sample_report(4, 200);
  const std::string guess = to_text(report);
  EXPECT_THAT(guess, HasSubstr("probably wait for it"));
  EXPECT_THAT(guess, Not(HasSubstr("Verdict")));
  EXPECT_THAT(to_json(report), HasSubstr("\"is_analyzed\": false"));
  report.conclusion.verdict = "Rank 3 (n1) is slow.";
  const std::string text = to_text(report);
  EXPECT_TRUE(text.ends_with("\n\nVerdict         Rank 3 (n1) is slow.\n")) << text;
  EXPECT_THAT(text, Not(HasSubstr("probably wait for it")));
  EXPECT_LE(lines_of(text).size(), 60U);
  EXPECT_THAT(to_json(report),
              HasSubstr("\"verdict\": \"Rank 3 (n1) is slow.\",\n  \"is_analyzed\": true"));
}

TEST(Verdict, OfManyWordsIsNotCut) {
  RunReport report = sample_report(4, 200);
  for (int i = 0; i < 100; ++i) report.conclusion.verdict += "Rank 3 is slow. ";
  report.conclusion.verdict += "Else all is well.";
  EXPECT_THAT(to_text(report), EndsWith("well.\n"));
}

TEST(Verdict, ThatWasNotMadeIsNamedByItsCommand) {
  RunReport report = sample_report(4, 200);
  report.conclusion.verdict_command = "megascope analyze run";
  const std::string text = to_text(report);
  EXPECT_TRUE(text.ends_with(
      "\n\nVerdict         megascope analyze run shows which ranks delay the others, and why\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("probably wait for it"));
}

}  // namespace
}  // namespace megascope::report
