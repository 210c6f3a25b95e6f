// What an analysis found, in timelines, judged by Perfetto's trace processor: names, places, times,
// and that slices nest.
#include "core/record/annotation.h"
#include "exporters/chrome/export.h"
#include "exporters/perfetto/export.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>

namespace megascope::test {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::Values;

struct Format {
  const char* name;
  ExportFunction exporter;
  const char* file;
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

/// Rank 0 waits in MPI_Recv on its second thread, and in MPI_Allreduce on its first; rank 1 is late
/// to both.
std::vector<SampleProcess> late_partner() {
  SampleProcess rank0(0, 2);
  rank0.add_thread("worker");
  rank0.call("MPI_Comm_rank", 100, 110);
  rank0.call("MPI_Allreduce", 1000, 9000, {collective(0, kNoPeer, 8, 8)});
  rank0.call("MPI_Recv", 2000, 6000, {recv(1, 7, 8)}, 1);
  SampleProcess rank1(1, 2);
  rank1.call("MPI_Send", 5500, 5600, {send(0, 7, 8)});
  rank1.call("MPI_Allreduce", 8000, 9000, {collective(0, kNoPeer, 8, 8)});
  return {rank0, rank1};
}

Annotations what_was_found() {
  Annotations found;
  found.wait_kinds = {"none", "late sender", "wait at NxN"};
  found.waits[0] = {{.begin_ns = 1000, .end_ns = 8000, .location = 0, .kind = 2, .waits_for = 1},
                    {.begin_ns = 2000, .end_ns = 5500, .location = 1, .kind = 1, .waits_for = 1}};
  Annotation slow{.begin_ns = 500,
                  .end_ns = 9000,
                  .name = "Rank 1 (\"n0\") is slow",
                  .world_ranks = {1},
                  .arguments = {}};
  slow.arguments = {{"kind", "slow_compute", 0}, {"factor", {}, 1.5}};
  found.findings = {slow,
                    {.begin_ns = 400,
                     .end_ns = 700,
                     .name = "Ranks 0-1 are slow",
                     .world_ranks = {0, 1},
                     .arguments = {}}};
  return found;
}

class Annotated : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override { MEGASCOPE_NEEDS_JUDGE(); }

  static json answer(const std::vector<SampleProcess>& run, const Annotations& found,
                     const std::string& query, int members = 1) {
    const TemporaryDirectory directory;
    ExportResult result;
    const Status status = export_by(GetParam().exporter, members, run, directory.path(), result,
                                    &found);
    EXPECT_TRUE(status.is_ok()) << status.message();
    const json report = judged(directory.path() + "/" + GetParam().file, {query});
    EXPECT_THAT(report["problems"], IsEmpty()) << report["problems"];
    return report["answers"][0];
  }
};

TEST_P(Annotated, WaitsLieInTheirCalls) {
  EXPECT_EQ(
      answer(
          late_partner(), what_was_found(),
          "SELECT slice.name, slice.ts, slice.dur, parent.name AS call FROM slice JOIN slice AS "
          "parent ON parent.id = slice.parent_id WHERE slice.category = 'wait' ORDER BY slice.ts",
          2),
      (json::array(
          {{{"name", "wait at NxN: rank 1"},
            {"ts", 1000},
            {"dur", 7000},
            {"call", "MPI_Allreduce"}},
           {{"name", "late sender: rank 1"}, {"ts", 2000}, {"dur", 3500}, {"call", "MPI_Recv"}}})));
}

TEST_P(Annotated, WaitsReportWhichTheyWaitFor) {
  EXPECT_EQ(answer(late_partner(), what_was_found(),
                   "SELECT COUNT(*) AS count FROM slice JOIN args USING (arg_set_id) WHERE "
                   "args.key GLOB '*.waits_for' AND int_value = 1"),
            (json::array({{{"count", 2}}})));
}

TEST_P(Annotated, FindingsHaveTracksOfTheirOwnAndLieOnTheRanksTheyAreAbout) {
  const json rows = answer(
      late_partner(), what_was_found(),
      "SELECT slice.name, slice.ts, slice.dur, COUNT(*) AS count, COUNT(DISTINCT track_id) AS "
      "tracks FROM slice WHERE category = 'finding' GROUP BY slice.name ORDER BY slice.name",
      2);
  EXPECT_EQ(rows, (json::array({{{"name", "Rank 1 (\"n0\") is slow"},
                                 {"ts", 500},
                                 {"dur", 8500},
                                 {"count", 2},
                                 {"tracks", 2}},
                                {{"name", "Ranks 0-1 are slow"},
                                 {"ts", 400},
                                 {"dur", 300},
                                 {"count", 3},
                                 {"tracks", 3}}})));
}

TEST_P(Annotated, FindingsHaveAProcessOfTheirOwn) {
  EXPECT_EQ(answer(late_partner(), what_was_found(),
                   "SELECT COUNT(*) AS count FROM process WHERE name = 'MegaScope findings'"),
            (json::array({{{"count", 1}}})));
}

TEST_P(Annotated, FindingsReportWhatTheyAreMadeOf) {
  EXPECT_EQ(
      answer(late_partner(), what_was_found(),
             "SELECT DISTINCT display_value AS value FROM slice JOIN args USING (arg_set_id) WHERE "
             "category = 'finding' AND (key GLOB '*.factor' OR key GLOB '*.kind') ORDER BY value"),
      (json::array({{{"value", "1.5"}}, {{"value", "slow_compute"}}})));
}

TEST_P(Annotated, WaitsThatDoNotFitTheirCallsAreLeftOut) {
  Annotations found = what_was_found();
  found.waits[0] = {{.begin_ns = 999, .end_ns = 1500, .location = 0, .kind = 1, .waits_for = 1},
                    {.begin_ns = 1000, .end_ns = 9001, .location = 0, .kind = 1, .waits_for = 1}};
  EXPECT_EQ(
      answer(late_partner(), found, "SELECT COUNT(*) AS count FROM slice WHERE category = 'wait'"),
      (json::array({{{"count", 0}}})));
}

INSTANTIATE_TEST_SUITE_P(Formats, Annotated,
                         Values(Format{"perfetto", perfetto::run_export, "trace.perfetto-trace"},
                                Format{"chrome", chrome::run_export, "trace.json.gz"}),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(PerfettoWaits, EndWhereACallbackCallsMpi) {
  MEGASCOPE_NEEDS_JUDGE();
  SampleProcess rank0(0, 2);
  rank0.call("MPI_Allreduce", 1000, 9000, {collective(0, kNoPeer, 8, 8)});
  rank0.call("MPI_Comm_rank", 4500, 5200, {}, 0, 1);
  Annotations found;
  found.wait_kinds = {"none"};
  found.waits[0] = {{.begin_ns = 1000, .end_ns = 5000, .location = 0, .kind = 0, .waits_for = 1}};
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(
      export_by(perfetto::run_export, 1, {rank0}, directory.path(), result, &found).is_ok());
  const json report = judged(directory.path() + "/trace.perfetto-trace",
                             {"SELECT name, ts, dur, depth FROM slice ORDER BY ts, depth"});
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["answers"][0],
            (json::array({{{"name", "MPI_Allreduce"}, {"ts", 1000}, {"dur", 8000}, {"depth", 0}},
                          {{"name", "none: rank 1"}, {"ts", 1000}, {"dur", 3500}, {"depth", 1}},
                          {{"name", "MPI_Comm_rank"}, {"ts", 4500}, {"dur", 700}, {"depth", 1}}})));
  EXPECT_EQ(result.records, 3U);
}

}  // namespace
}  // namespace megascope::test
