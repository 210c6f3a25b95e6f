// What is particular to trace.perfetto-trace; what all formats share is in formats_test.cpp.
#include "exporters/perfetto/export.h"
#include "exporters/perfetto/lanes.h"
#include "exporters/perfetto/track_numbers.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace megascope::test {
namespace {

using nlohmann::json;
using perfetto::OperationLanes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFile = "/trace.perfetto-trace";

ExportResult exported(const std::vector<SampleProcess>& run, const std::string& directory) {
  ExportResult result;
  const Status status = export_by(perfetto::run_export, 1, run, directory, result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(result.bytes, std::filesystem::file_size(directory + kFile));
  return result;
}

TEST(Perfetto, FilesOfSingleRanksCanBePutBehindEachOther) {
  MEGASCOPE_NEEDS_JUDGE();
  const std::vector<SampleProcess> run = send_and_receive();
  const TemporaryDirectory first;
  const TemporaryDirectory second;
  exported({run[0]}, first.path());
  exported({run[1]}, second.path());
  {
    std::ofstream whole(first.path() + kFile, std::ios::binary | std::ios::app);
    whole << std::ifstream(second.path() + kFile, std::ios::binary).rdbuf();
  }
  const json report = judged(first.path() + kFile);
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["slices"], 4);
  EXPECT_EQ(report["flows"], 2);
}

TEST(Perfetto, NsAreKeptOverAYear) {
  MEGASCOPE_NEEDS_JUDGE();
  constexpr std::uint64_t kYearNs = 31'536'000'000'000'000;
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Send", 1, 2);
  rank0.call("MPI_Send", kYearNs + 1, kYearNs + 4);
  const TemporaryDirectory directory;
  exported({rank0}, directory.path());
  const json report = judged(directory.path() + kFile,
                             {"SELECT CAST(ts AS TEXT) AS ts, dur FROM slice ORDER BY slice.ts"});
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["answers"][0],
            (json::array({{{"ts", "1"}, {"dur", 1}}, {{"ts", "31536000000000001"}, {"dur", 3}}})));
}

TEST(Perfetto, KnowsTheDate) {
  MEGASCOPE_NEEDS_JUDGE();
  const TemporaryDirectory directory;
  exported(send_and_receive(), directory.path());
  const json report = judged(
      directory.path() + kFile,
      {"SELECT DISTINCT clock_value FROM clock_snapshot WHERE clock_name = 'REALTIME'"});
  EXPECT_EQ(report["answers"][0], (json::array({{{"clock_value", "1700000000000000000"}}})));
}

TEST(Perfetto, StandsMoreOperationsAtOnceThanItShows) {
  MEGASCOPE_NEEDS_JUDGE();
  constexpr RequestId kOperations = OperationLanes::kMaxLanes + 100;
  SampleProcess rank0(0, 4);
  for (RequestId request = 1; request <= kOperations; ++request) {
    rank0.call("MPI_Isend", 10 * request, 10 * request + 5, {send_request(request, 1, 7, 8)});
  }
  for (RequestId request = 1; request <= kOperations; ++request) {
    rank0.call("MPI_Wait", 20'000 + 10 * request, 20'000 + 10 * request + 5,
               {send_complete(request)});
  }
  const TemporaryDirectory directory;
  const ExportResult result = exported({rank0}, directory.path());
  EXPECT_THAT(result.notes, ElementsAre("100 nonblocking operations have no slice: "
                                        "the limit is 1024 at a time"));
  const json report = judged(directory.path() + kFile,
                             {"SELECT COUNT(*) AS open FROM slice WHERE dur < 0"});
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["slices"], 2 * kOperations + OperationLanes::kMaxLanes);
  EXPECT_EQ(report["slices"], result.records);
  EXPECT_EQ(report["answers"][0][0]["open"], 0);
}

// Readers ignore short ids in an event that also has others.
TEST(Perfetto, ConnectsMessagesOfOneCallWithIdsOfBothKinds) {
  MEGASCOPE_NEEDS_JUDGE();
  constexpr std::int32_t kLargeTag = 1 << 20;
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Send", 10, 15, {send(1, 7, 8)});
  rank0.call("MPI_Send", 20, 25, {send(1, kLargeTag, 8)});
  rank0.call("MPI_Send", 30, 35, {send(1, 8, 8)});
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Irecv", 1, 2, {recv_request(1, 0, 7, 8)});
  rank1.call("MPI_Irecv", 3, 4, {recv_request(2, 0, kLargeTag, 8)});
  rank1.call("MPI_Waitall", 50, 60, {recv_complete(1, 0, 7, 8), recv_complete(2, 0, kLargeTag, 8)});
  rank1.call("MPI_Recv", 70, 80, {recv(0, 8, 8)});
  const TemporaryDirectory directory;
  exported({rank0, rank1}, directory.path());
  const json report = judged(
      directory.path() + kFile,
      {"SELECT a.ts AS start, b.name AS name FROM flow JOIN slice a ON a.id = flow.slice_out "
       "JOIN slice b ON b.id = flow.slice_in ORDER BY a.ts"});
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["answers"][0], (json::array({{{"start", 10}, {"name", "MPI_Waitall"}},
                                                {{"start", 20}, {"name", "MPI_Waitall"}},
                                                {{"start", 30}, {"name", "MPI_Recv"}}})));
}

/// A rank with two counters more than the format has tracks for; these and the one before are set
/// twice.
class ManyCounters final : public RecordSource {
 public:
  ManyCounters() {
    process_.info.world_size = 1;
    process_.locations.push_back(
        {.id = 0, .name = "main thread", .system_thread_id = 1, .is_main = true});
    for (CounterId id = 0; id < perfetto::tracks::kMaxCounters + 2; ++id)
      process_.counters.push_back({id, "c" + std::to_string(id), ""});
  }
  std::int32_t world_size() const override { return 1; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t) const override { return process_; }
  std::unique_ptr<CallStream> calls(std::int32_t, LocationId) const override {
    return std::make_unique<NoCalls>();
  }
  std::unique_ptr<PointStream> points(std::int32_t, LocationId) const override {
    return std::make_unique<Values>();
  }
  std::int64_t start_realtime_ns() const override { return 0; }
  std::uint64_t end_ns() const override { return 100; }

 private:
  struct NoCalls final : CallStream {
    bool next(Call&) override { return false; }
  };
  struct Values final : PointStream {
    bool next(Point& point) override {
      constexpr CounterId kFirst = perfetto::tracks::kMaxCounters -
                                   1;  // the last one that has a track
      if (index == 6) return false;
      point = {.time_ns = 10 + index,
               .kind = PointKind::kCounter,
               .id = kFirst + index % 3,
               .value = 1.5};
      ++index;
      return true;
    }
    std::uint32_t index = 0;
  };

  ProcessDefinitions process_;
  std::vector<std::int32_t> ranks_{0};
};

TEST(Perfetto, SaysHowManyCountersHaveNoTrack) {
  const ManyCounters run;
  const auto alone = make_single_collective();
  const TemporaryDirectory directory;
  ExportResult result;
  const ExportJob job{.source = &run,
                      .collective = alone.get(),
                      .directory = directory.path(),
                      .generator = "test",
                      .progress = {},
                      .annotations = nullptr};
  ASSERT_TRUE(perfetto::run_export(job, result).is_ok());
  EXPECT_THAT(result.notes,
              ElementsAre("2 counters are not shown: the limit is 458752 for each rank"));
  MEGASCOPE_NEEDS_JUDGE();
  const json report = judged(directory.path() + kFile,
                             {"SELECT t.name AS name, COUNT(*) AS count FROM counter c JOIN "
                              "counter_track t ON t.id = c.track_id GROUP BY 1"});
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["answers"][0], (json::array({{{"name", "c458751"}, {"count", 2}}})));
}

TEST(Perfetto, DoesNotOverwriteAndSaysSoToAll) {
  const TemporaryDirectory directory;
  exported(send_and_receive(), directory.path());
  ExportResult result;
  const Status status = export_by(perfetto::run_export, 2, send_and_receive(), directory.path(),
                                  result);
  EXPECT_THAT(status.message(), HasSubstr("trace.perfetto-trace exists already"));
}

TEST(OperationLanes, GiveTheLowestLaneThatIsFree) {
  OperationLanes lanes;
  bool is_new = false;
  EXPECT_EQ(lanes.start(11, is_new), 0U);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(lanes.start(12, is_new), 1U);
  EXPECT_EQ(lanes.start(13, is_new), 2U);
  EXPECT_EQ(lanes.start(13, is_new), OperationLanes::kNoLane) << "in flight already";
  EXPECT_EQ(lanes.complete(12), 1U);
  EXPECT_EQ(lanes.complete(12), OperationLanes::kNoLane);
  EXPECT_EQ(lanes.complete(11), 0U);
  EXPECT_EQ(lanes.start(14, is_new), 0U);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(lanes.start(kNoRequest, is_new), OperationLanes::kNoLane);
}

}  // namespace
}  // namespace megascope::test
