#include "exporters/report/run_report.h"
#include "tests/exporters/report/sample_runs.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <string>

namespace megascope::report {
namespace {

using nlohmann::json;

std::string golden(const std::string& name) {
  std::ifstream in(MEGASCOPE_GOLDEN_DIRECTORY "/" + name);
  EXPECT_TRUE(in) << name;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ReportText, OfOneRank) { EXPECT_EQ(to_text(sample_report(1, 100)), golden("ranks1.txt")); }

TEST(ReportText, OfFourRanks) { EXPECT_EQ(to_text(sample_report(4, 200)), golden("ranks4.txt")); }

TEST(ReportText, OfAThousandRanks) {
  EXPECT_EQ(to_text(sample_report(1000, 10)), golden("ranks1000.txt"));
}

TEST(ReportText, OfARunThatLostMuch) {
  RunReport report = sample_report(2, 10);
  report.losses[0] = 1'234'567;
  report.losses[4] = 3;
  report.notes = {"rank 1: no space left on the disk of node02"};
  report.conclusion.exports.clear();
  EXPECT_EQ(to_text(report), golden("losses.txt"));
}

TEST(ReportJson, HasEveryFigureOfFourRanks) {
  const json report = json::parse(to_json(sample_report(4, 200)));
  EXPECT_EQ(report["version"], "0.1.0");
  EXPECT_EQ(report["run_id"], "node01-4000");
  EXPECT_EQ(report["program"], "/opt/solver -n 64");
  EXPECT_EQ(report["started"], "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(report["ranks"], 4);
  EXPECT_EQ(report["nodes"], json::array({"node01", "node02"}));
  EXPECT_EQ(report["missing_ranks"], json::array());
  EXPECT_DOUBLE_EQ(report["wall_s"], 2.05);
  EXPECT_EQ(report["mpi_calls"], 4 * (200 * 4 + 2));
  EXPECT_EQ(report["functions"]["MPI_Isend"], (json{{"calls", 800},
                                                    {"bytes", 800'000},
                                                    {"time_s", 0.0008},
                                                    {"max_time_s", 1e-6},
                                                    {"bytes_sent", 800'000},
                                                    {"bytes_received", 0}}));
  EXPECT_EQ(report["functions"].size(), 6u);
  ASSERT_EQ(report["per_rank"].size(), 4u);
  EXPECT_EQ(report["per_rank"][3]["rank"], 3);
  EXPECT_EQ(report["per_rank"][3]["host"], "node02");
  EXPECT_DOUBLE_EQ(report["per_rank"][3]["mpi_time_s"], 0.05 + 200 * 0.002);
  EXPECT_DOUBLE_EQ(report["per_rank"][3]["mpi_share"], 0.2);
  EXPECT_EQ(report["per_rank"][3]["calls"], 802);
  EXPECT_EQ(report["end_states"],
            (json{{"running", 0}, {"finalized", 4}, {"aborted", 0}, {"recovered", 0}}));
  EXPECT_EQ(report["losses"], (json{{"buffer_full", 0},
                                    {"storage", 0},
                                    {"no_buffer", 0},
                                    {"unknown_request", 0},
                                    {"size_unknown", 0},
                                    {"foreign", 0},
                                    {"damaged", 0},
                                    {"unbalanced", 0},
                                    {"refused", 0}}));
  EXPECT_EQ(
      report["message_sizes"],
      json::array(
          {{{"from_bytes", 512}, {"to_bytes", 1023}, {"messages", 800}, {"bytes", 800'000}}}));
  EXPECT_EQ(report["matrix"]["pairs"], 4);
  EXPECT_EQ(report["matrix"]["heaviest"][0],
            (json{{"source", 0}, {"destination", 1}, {"messages", 200}, {"bytes", 200'000}}));
  EXPECT_EQ(report["communicators"][0]["id"], "000000000000abcd");
  EXPECT_EQ(report["exports"][0], (json{{"format", "otf2"},
                                        {"path", "trace.otf2"},
                                        {"records", 1234567},
                                        {"bytes", 12'582'912}}));
  EXPECT_DOUBLE_EQ(report["overhead_s"], 0.002);
}

TEST(ReportJson, AddsUp) {
  const json report = json::parse(to_json(sample_report(8, 20)));
  double function_time_s = 0;
  std::uint64_t function_calls = 0;
  for (const json& row : report["functions"]) {
    function_time_s += row["time_s"].get<double>();
    function_calls += row["calls"].get<std::uint64_t>();
  }
  double rank_time_s = 0;
  for (const json& row : report["per_rank"]) rank_time_s += row["mpi_time_s"].get<double>();
  EXPECT_NEAR(function_time_s, rank_time_s, 1e-9);
  EXPECT_EQ(function_calls, report["mpi_calls"]);
}

TEST(ReportJson, IsValidForNamesThatAreNotUtf8AndForNoCalls) {
  RunReport report = sample_report(1, 1);
  report.run.programs = {"\xff\x01\"\n"};
  EXPECT_EQ(json::parse(to_json(report))["program"], "\xef\xbf\xbd\x01\"\n");
  const json nothing = json::parse(to_json(RunReport()));
  EXPECT_EQ(nothing["mpi_calls"], 0);
  EXPECT_EQ(nothing["started"], nullptr);
  EXPECT_EQ(nothing["losses"].size(), kLossCauseCount);
}

}  // namespace
}  // namespace megascope::report
