#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "exporters/perfetto/export.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

namespace megascope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using nlohmann::json;

constexpr const char* kFile = "/trace.perfetto-trace";
// Which slices an arrow connects, as "name of rank"; ranks are pid - 1000000.
constexpr const char* kArrows = R"(
  SELECT a.name || ' ' || (pa.pid - 1000000) || ' > ' || b.name || ' ' || (pb.pid - 1000000) AS arrow
  FROM flow JOIN slice a ON a.id = flow.slice_out JOIN slice b ON b.id = flow.slice_in
  JOIN thread_track ta ON ta.id = a.track_id JOIN thread USING (utid) JOIN process pa USING (upid)
  JOIN thread_track tb ON tb.id = b.track_id JOIN thread hb ON hb.utid = tb.utid JOIN process pb ON pb.upid = hb.upid
  ORDER BY arrow)";
constexpr const char* kTimes = "SELECT slice.name, ts, dur FROM slice JOIN thread_track t ON t.id = track_id ORDER BY ts";

std::vector<std::string> column(const json& rows, const char* name) {
  std::vector<std::string> values;
  for (const json& row : rows) {
    const json& value = row[name];
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return values;
}

/// Exports and judges; checks what holds for every trace.
json examined(const std::vector<SampleProcess>& run, const std::vector<std::string>& queries = {}, int members = 1) {
  const ScratchFolder folder;
  ExportResult result;
  const Status status = export_by(perfetto::run_export, members, run, folder.path(), result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(folder.files(), ElementsAre("trace.perfetto-trace"));
  json report = judged(folder.path() + kFile, queries);
  EXPECT_THAT(report["problems"], IsEmpty()) << report["problems"];
  EXPECT_EQ(report.value("slices", 0U), result.records);
  return report;
}

TEST(Perfetto, ShowsCallsWithExactTimes) {
  MEGASCOPE_NEEDS_JUDGE();
  const json report = examined(send_and_receive(), {kTimes});
  EXPECT_EQ(report["names"], (json{{"MPI_Barrier", 2}, {"MPI_Recv", 1}, {"MPI_Send", 1}}));
  EXPECT_EQ(report["answers"][0], (json::array({{{"name", "MPI_Recv"}, {"ts", 50}, {"dur", 110}},
                                                {{"name", "MPI_Send"}, {"ts", 100}, {"dur", 50}},
                                                {{"name", "MPI_Barrier"}, {"ts", 170}, {"dur", 120}},
                                                {{"name", "MPI_Barrier"}, {"ts", 200}, {"dur", 100}}})));
}

TEST(Perfetto, RanksAreProcessesInOrder) {
  MEGASCOPE_NEEDS_JUDGE();
  const json report = examined(send_and_receive());
  EXPECT_THAT(column(report["processes"], "pid"), ElementsAre("1000000", "1000001"));
}

TEST(Perfetto, ArrowsLeadFromSendToReceiveAndThroughTheCollective) {
  MEGASCOPE_NEEDS_JUDGE();
  const json report = examined(send_and_receive(), {kArrows});
  // The receive began first: readers start the arrow there.
  EXPECT_THAT(column(report["answers"][0], "arrow"),
              ElementsAre("MPI_Barrier 1 > MPI_Barrier 0", "MPI_Recv 1 > MPI_Send 0"));
}

TEST(Perfetto, EveryMessageAndCollectiveHasItsArrows) {
  MEGASCOPE_NEEDS_JUDGE();
  for (const int members : {1, 2, 4}) {
    const json report = examined(ring(4, 50), {}, members);
    EXPECT_EQ(report["slices"], 4 * 50 * (4 + 2));
    EXPECT_EQ(report["flows"], 50 * (4 + 3));
  }
}

}  // namespace
}  // namespace megascope::test
