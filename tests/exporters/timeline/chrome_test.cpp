// What is particular to trace.json.gz; what all formats share is in formats_test.cpp.
#include "exporters/chrome/export.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>
#include <iterator>

namespace megascope::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// Inflates a file that must be one gzip member, checksum included, and nothing behind it: all that
/// a browser takes.
std::string inflated(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::string text(bytes.size() * 100 + 4096, '\0');
  z_stream inflater{};
  EXPECT_EQ(inflateInit2(&inflater, 16 + MAX_WBITS), Z_OK);
  inflater.next_in = reinterpret_cast<Bytef*>(bytes.data());
  inflater.avail_in = static_cast<uInt>(bytes.size());
  inflater.next_out = reinterpret_cast<Bytef*>(text.data());
  inflater.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&inflater, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(inflater.avail_in, 0U);
  text.resize(inflater.total_out);
  inflateEnd(&inflater);
  return text;
}

json trace_of(const std::vector<SampleProcess>& run, int members) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_by(chrome::run_export, members, run, directory.path(), result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  json trace = json::parse(inflated(directory.path() + "/trace.json.gz"), nullptr, false);
  EXPECT_FALSE(trace.is_discarded());
  EXPECT_EQ(trace["traceEvents"].size(), result.records);
  return trace;
}

json events_of(const std::vector<SampleProcess>& run, int members) {
  return trace_of(run, members)["traceEvents"];
}

TEST(Chrome, IsOneGzipMemberWithOneJsonObjectHoweverManyWroteIt) {
  const std::vector<SampleProcess> run = ring(4, 300);
  const json one = trace_of(run, 1);
  EXPECT_EQ(one["displayTimeUnit"], "ns");
  EXPECT_EQ(one["otherData"]["generator"], "test");
  EXPECT_EQ(trace_of(run, 2), one);
  EXPECT_EQ(trace_of(run, 4), one);
}

TEST(Chrome, IsAJsonObjectWithoutRanks) { EXPECT_EQ(events_of({}, 3), json::array()); }

TEST(Chrome, ASliceSaysAllInItsEvent) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Send", 1'234'567, 1'300'000, {send(3, 42, 40)});
  json slices = json::array();
  for (const json& event : events_of({rank1}, 1)) {
    if (event["ph"] == "X") slices.push_back(event);
  }
  EXPECT_EQ(
      slices,
      json::parse(
          R"([{"ph": "X", "name": "MPI_Send", "cat": "p2p", "pid": 1, "tid": 1, "ts": 1234.567,
      "dur": 65.433, "args": {"comm": "MPI_COMM_WORLD", "peer": 3, "tag": 42, "bytes": 40}}])"));
}

TEST(Chrome, AMessageStartsWhereItIsSentAndEndsWithinItsReceive) {
  std::vector<std::string> ids;
  std::vector<json> call_sites;
  for (const json& event : events_of(send_and_receive(), 2)) {
    if (event.value("cat", "") != "message") continue;
    ids.push_back(event["id"]);
    call_sites.push_back({event["ph"], event["pid"], event["ts"]});
  }
  EXPECT_THAT(call_sites, UnorderedElementsAre(json{"s", 0, 0.1}, json{"f", 1, 0.159}));
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(ids[0], ids[1]);
}

TEST(Chrome, CallsThatTookNoTimeHaveNoArrows) {
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Send", 100, 100, {send(1, 42, 40)});
  for (const json& event : events_of({rank0}, 1)) EXPECT_NE(event["ph"], "s");
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(
      export_by(chrome::run_export, 2, {rank0, SampleProcess(1, 4)}, directory.path(), result)
          .is_ok());
  EXPECT_THAT(result.notes,
              ElementsAre("1 arrow ends are omitted because their calls have zero duration"));
}

}  // namespace
}  // namespace megascope::test
