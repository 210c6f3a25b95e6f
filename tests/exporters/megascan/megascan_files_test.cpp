// MegaScan's files as they are written: rows by hand, and what is refused.
#include "core/record/value_fact.h"
#include "exporters/megascan/export.h"
#include "exporters/megascan/fact_text.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace megascope::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int32_t kStages = 2;

SampleProcess stage(std::int32_t rank) {
  SampleProcess process(rank, kStages);
  process.definitions().info.parallel = {{"tp", 0, 1}, {"pp", rank, kStages}};
  return process;
}

std::string file_of(std::int32_t pp) {
  return "benchmark-data-0-pipeline-" + std::to_string(pp) + "-tensor-0.json";
}

json rows_of(const std::string& path) {
  std::ifstream stream(path);
  json rows = json::parse(stream, nullptr, false);
  EXPECT_TRUE(rows.is_array()) << path;
  return rows;
}

/// Rows that MegaScan does not drop, with the keys that are asked for.
json operations_of(const json& rows, const std::vector<std::string>& keys) {
  json kept = json::array();
  for (const json& row : rows) {
    if (row["ph"] == "i") continue;
    json some = json::object();
    for (const std::string& key : keys) {
      if (row.contains(key)) some[key] = row[key];
    }
    kept.push_back(some);
  }
  return kept;
}

struct Exported {
  std::vector<json> files;  ///< by stage
  ExportResult result;
};

Exported exported(const std::vector<SampleProcess>& run, int members = 1) {
  const TemporaryDirectory directory;
  Exported all;
  const Status status = export_by(megascan::run_export, members, run, directory.path(), all.result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    all.files.push_back(rows_of(directory.path() + "/" + file_of(static_cast<std::int32_t>(i))));
    rows += all.files.back().size();
  }
  EXPECT_EQ(directory.names().size(), run.size());
  if (run.size() < 4) {  // of the world of export_by
    EXPECT_THAT(all.result.notes.back(),
                HasSubstr(std::to_string(4 - run.size()) + " ranks have no trace and no file"));
    all.result.notes.pop_back();
  }
  EXPECT_EQ(all.result.records, rows);
  EXPECT_EQ(all.result.path, "benchmark-data-*.json");
  return all;
}

std::string refusal(const std::vector<SampleProcess>& run, const std::string& directory,
                    int members = 1) {
  ExportResult result;
  const Status status = export_by(megascan::run_export, members, run, directory, result);
  EXPECT_FALSE(status.is_ok());
  return status.message();
}

Fact step(std::int64_t number) { return value_fact(ValueName::kStep, number); }

TEST(MegascanFiles, HaveTimesInNsFromTheBeginOfTheIterationOnAnyRank) {
  SampleProcess first = stage(0);
  first.call("MPI_Send", 1'000, 1'500,
             {send(1, 7, 4096), step(5), value_fact(ValueName::kMicroBatch, 3)});
  first.call("MPI_Barrier", 10'000, 10'001, {step(6)});
  SampleProcess second = stage(1);
  second.call("MPI_Recv", 900, 1'600, {recv(0, 7, 4096), step(5)});
  second.call("MPI_Barrier", 9'000, 9'004, {step(6)});
  const Exported all = exported({first, second}, 2);
  EXPECT_EQ(operations_of(all.files[0], {"name", "ph", "rel_ts", "pad_before", "duration_wall",
                                         "step", "begin_ns", "micro_batch_index"}),
            json::parse(R"([
      {"name":"iteration","ph":"B","pad_before":900,"step":5,"begin_ns":900},
      {"name":"MPI_Send","ph":"B","rel_ts":100},
      {"name":"MPI_Send","ph":"E","rel_ts":600,"micro_batch_index":3},
      {"name":"iteration","ph":"E","rel_ts":600,"duration_wall":600},
      {"name":"iteration","ph":"B","pad_before":7400,"step":6,"begin_ns":9000},
      {"name":"MPI_Barrier","ph":"B","rel_ts":1000},
      {"name":"MPI_Barrier","ph":"E","rel_ts":1001},
      {"name":"iteration","ph":"E","rel_ts":1001,"duration_wall":1001}])"));
  EXPECT_EQ(operations_of(all.files[1], {"ph", "rel_ts", "duration_wall"}), json::parse(R"([
      {"ph":"B"}, {"ph":"B","rel_ts":0}, {"ph":"E","rel_ts":700}, {"ph":"E","rel_ts":700,"duration_wall":700},
      {"ph":"B"}, {"ph":"B","rel_ts":0}, {"ph":"E","rel_ts":4}, {"ph":"E","rel_ts":4,"duration_wall":4}])"));
  EXPECT_THAT(all.result.notes, IsEmpty()) << all.result.notes.front();
}

TEST(MegascanFiles, ReportWhoWhatAndWithWhich) {
  SampleProcess first = stage(0);
  const CommId odd = first.add_comm(0xABC, "odd", kWorld, {1, 0});
  first.call("MPI_Send", 1'000, 2'000, {send(/*of odd*/ 0, 7, 1 << 27, odd)});
  first.call("MPI_Allreduce", 3'000, 4'000, {collective(4, kNoPeer, 8, 16)});
  const json rows = exported({first, stage(1)}).files[0];
  json sent;
  json reduced;
  for (const json& row : rows) {
    if (row["ph"] == "E" && row["name"] == "MPI_Send") sent = row;
    if (row["ph"] == "E" && row["name"] == "MPI_Allreduce") reduced = row;
    if (row["name"] == "iteration" && row["ph"] == "B") continue;
    for (const char* key : {"dp_rk", "pp_rk", "tp_rk", "dev", "g_rk"})
      EXPECT_EQ(row.at(key), 0) << row;
  }
  EXPECT_EQ(
      sent,
      json::parse(
          R"({"name":"MPI_Send","ph":"E","rel_ts":1000,"dp_rk":0,"pp_rk":0,"tp_rk":0,"dev":0,"g_rk":0,
      "expect":"MPI_Recv","group":[1],"data":134217728,"bandwidth":1e6,"sends":[2,0,7,134217728]})"))
      << "2^27 bytes a second are one Gbit/s";
  EXPECT_EQ(reduced["expect"], "MPI_Allreduce");
  EXPECT_EQ(reduced["group"], (json{1})) << "of the world of two";
  EXPECT_EQ(reduced["collectives"], (json{0, 4, -1, 8, 16}));
  EXPECT_FALSE(reduced.contains("data"));
}

TEST(MegascanFiles, HoldEveryIterationOnEveryRank) {
  SampleProcess first = stage(0);
  first.call("MPI_Barrier", 100, 200, {step(1)});
  first.call("MPI_Barrier", 300, 400, {step(2)});
  first.call("MPI_Barrier", 450, 460);
  SampleProcess second = stage(1);
  second.call("MPI_Barrier", 150, 350, {step(1)});
  const Exported all = exported({first, second});
  for (const json& file : all.files) {
    EXPECT_EQ(std::count_if(file.begin(), file.end(),
                            [](const json& row) { return row["name"] == "iteration"; }),
              4);
  }
  EXPECT_THAT(
      all.result.notes,
      ElementsAre(HasSubstr("1 of 2 steps begin on one rank before the previous step has ended"),
                  HasSubstr("1 calls outside of steps are omitted")));
}

TEST(MegascanFiles, OfARunWithoutStepsAreOneIteration) {
  SampleProcess first = stage(0);
  first.call("MPI_Barrier", 100, 200);
  first.call(
      "MPI_File_sync", 300, 400,
      {{.kind = FactKind::kFileSync}, {.kind = FactKind::kError, .bytes = 5}, send_complete(3)});
  const Exported all = exported({first, stage(1)});
  EXPECT_EQ(operations_of(all.files[0], {"name", "step", "pad_before", "rel_ts"}).front(),
            json::parse(R"({"name":"iteration","step":-1,"pad_before":100})"));
  EXPECT_THAT(all.result.notes,
              ElementsAre(HasSubstr("no steps are annotated"), HasSubstr("2 facts (files")));
  EXPECT_EQ(exported({stage(0)}).files[0].size(), 5U)
      << "a run without calls: an iteration, and what is defined";
}

TEST(MegascanFiles, CutWhatOverlapsAndReportIt) {
  SampleProcess first = stage(0);
  const LocationId thread = first.add_thread("thread \"2\"");
  first.call("MPI_Recv", 100, 200, {recv(1, 0, 8)});
  first.call("MPI_Recv", 150, 300, {recv(1, 1, 8)}, thread);
  const Exported all = exported({first, stage(1)});
  EXPECT_EQ(operations_of(all.files[0], {"ph", "rel_ts", "stream", "uncut_begin", "uncut_end"}),
            json::parse(R"([
      {"ph":"B"}, {"ph":"B","rel_ts":0}, {"ph":"E","rel_ts":100}, {"ph":"B","rel_ts":100},
      {"ph":"E","rel_ts":200,"stream":"thread \"2\"","uncut_begin":50,"uncut_end":200}, {"ph":"E","rel_ts":200}])"));
  EXPECT_THAT(all.result.notes[1],
              HasSubstr("1 of 2 calls partially overlap others of their rank"));
  EXPECT_THAT(all.result.notes[1], HasSubstr("by 50 ns in total"));
}

TEST(MegascanFiles, AreBalancedOfAnyRunAndAlikeHoweverManyWroteThem) {
  std::vector<SampleProcess> run = ring(4, 50);
  for (std::int32_t rank = 0; rank < 4; ++rank)
    run[static_cast<std::size_t>(rank)].definitions().info.parallel = {{"pp", rank, 4}};
  const Exported one = exported(run, 1);
  EXPECT_EQ(exported(run, 4).files, one.files);
  for (const json& file : one.files) {
    std::vector<std::string> open;
    std::int64_t last_ns = 0;
    for (const json& row : file) {
      if (row["ph"] == "i") continue;
      if (row["ph"] == "B") open.push_back(row["name"]);
      if (row["ph"] == "E") {
        ASSERT_THAT(open, testing::Not(IsEmpty()));
        EXPECT_EQ(open.back(), row["name"]);
        open.pop_back();
      }
      if (!row.contains("rel_ts")) continue;
      EXPECT_GE(row["rel_ts"], last_ns);
      last_ns = row["rel_ts"];
    }
    EXPECT_THAT(open, IsEmpty());
  }
}

TEST(MegascanFiles, AreJsonForAnyNames) {
  SampleProcess first = stage(0);
  first.definitions().info.host = "a\"b\\c\xff";
  first.call("odd \"name\"\n\xff", 10, 20);
  first.call("iteration", 30, 40);
  const json rows = exported({first, stage(1)}).files[0];
  EXPECT_EQ(operations_of(rows, {"name"})[1]["name"], "odd \"name\"\n\xEF\xBF\xBD");
  EXPECT_EQ(operations_of(rows, {"name"})[3]["name"], "iteration (region)")
      << "the plain name is MegaScan's";
}

TEST(MegascanFiles, NeedACallSiteOfItsOwnForEachRank) {
  const TemporaryDirectory directory;
  SampleProcess nowhere(1, kStages);
  EXPECT_EQ(refusal({stage(0), nowhere}, directory.path(), 2),
            "rank 1 has no coordinates in parallel groups, which MegaScan's file names need; "
            "specify their "
            "sizes, e.g. --parallel tp=2,pp=2,dp=2");
  SampleProcess pmpi(1, kStages);
  pmpi.definitions().info.parallel = {{"pp", 0, 2}, {"ep", 1, 2}};
  EXPECT_EQ(refusal({stage(0), pmpi}, directory.path(), 2),
            "ranks 0 and 1 have the same coordinates (dp 0, pp 0, tp 0), and MegaScan's files have "
            "no other "
            "dimension");
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(MegascanFiles, AreNotMixedUpWithThoseOfAnotherRun) {
  const TemporaryDirectory directory;
  const std::string other = directory.path() + "/benchmark-data-9-pipeline-9-tensor-9.json";
  std::ofstream(other) << "[]";
  EXPECT_EQ(refusal({stage(0), stage(1)}, directory.path(), 2),
            other + " exists already; a directory can hold the MegaScan files of one run only");
  EXPECT_THAT(directory.names(), ElementsAre("benchmark-data-9-pipeline-9-tensor-9.json"));
  EXPECT_THAT(refusal({stage(0)}, directory.path() + "/nowhere"),
              HasSubstr("/nowhere: No such file"));
}

TEST(MegascanFiles, LeaveNothingBehindWhenOneCannotBeWritten) {
  const TemporaryDirectory directory;
  SampleProcess large = stage(1);
  for (std::uint64_t i = 0; i < 1'000; ++i)
    large.call("MPI_Barrier", 10 * i, 10 * i + 5, {step(0)});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8'192, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = refusal({stage(0), large}, directory.path(), 2);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr(file_of(1)));
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(MegascanFiles, AreNotWrittenThroughLinks) {
  const TemporaryDirectory directory;
  const std::string precious = directory.path() + "/precious";
  std::ofstream(precious) << "precious";
  ASSERT_EQ(::symlink(precious.c_str(), (directory.path() + "/" + file_of(1) + ".part").c_str()),
            0);
  ExportResult result;
  EXPECT_TRUE(
      export_by(megascan::run_export, 2, {stage(0), stage(1)}, directory.path(), result).is_ok());
  EXPECT_EQ(std::filesystem::file_size(precious), 8U);
  EXPECT_TRUE(rows_of(directory.path() + "/" + file_of(1)).is_array());
}

TEST(MegascanPartners, AreFoundByName) {
  using megascan::partner_of;
  EXPECT_EQ(partner_of("recv-extra", false), "send-warmup");
  EXPECT_EQ(partner_of("send-cooldown", false), "recv-cooldown");
  EXPECT_EQ(partner_of("exchange-next", true), "exchange-prev");
  EXPECT_EQ(partner_of("MPI_Recv", false), "MPI_Send");
  EXPECT_EQ(partner_of("MPI_Sendrecv", true), "MPI_Sendrecv");
  EXPECT_EQ(partner_of("MPI_Waitall", false), "");
}

}  // namespace
}  // namespace megascope::test
