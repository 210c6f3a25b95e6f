// What holds for every timeline format, judged by Perfetto's trace processor.
#include "core/record/file_fact.h"
#include "core/record/value_fact.h"
#include "exporters/chrome/export.h"
#include "exporters/perfetto/export.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>

namespace megascope::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Values;

struct Format {
  const char* name;
  ExportFunction exporter;
  const char* file;
  std::int32_t first_pid;
  const char* argument_prefix;
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

/// The values of one column of a query's rows, as text.
std::vector<std::string> column(const json& rows, const char* name) {
  std::vector<std::string> values;
  for (const json& row : rows) {
    const json& value = row.at(name);
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return values;
}

class Timelines : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override { MEGASCOPE_NEEDS_JUDGE(); }

  /// Exports and judges; checks what holds for every trace.
  static json examined(const std::vector<SampleProcess>& run,
                       const std::vector<std::string>& queries = {}, int members = 1) {
    const TemporaryDirectory directory;
    ExportResult result;
    const Status status = export_by(GetParam().exporter, members, run, directory.path(), result);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_THAT(directory.names(), ElementsAre(GetParam().file));
    EXPECT_EQ(result.path, GetParam().file);
    json report = judged(directory.path() + "/" + GetParam().file, queries);
    EXPECT_THAT(report["problems"], IsEmpty()) << report["problems"];
    return report;
  }
  /// Rows of one query.
  static json asked(const std::vector<SampleProcess>& run, const std::string& query) {
    return examined(run, {query})["answers"][0];
  }

  /// "name rank > name rank" of the slices that each arrow connects, sorted, as column `arrow`.
  static std::string arrows() {
    const std::string pid = " - " + std::to_string(GetParam().first_pid) + ")";
    return "SELECT a.name || ' ' || (pa.pid" + pid + " || ' > ' || b.name || ' ' || (pb.pid" + pid +
           R"( AS arrow
        FROM flow JOIN slice a ON a.id = flow.slice_out JOIN slice b ON b.id = flow.slice_in
        JOIN thread_track ta ON ta.id = a.track_id JOIN thread ha ON ha.utid = ta.utid
        JOIN process pa ON pa.upid = ha.upid
        JOIN thread_track tb ON tb.id = b.track_id JOIN thread hb ON hb.utid = tb.utid
        JOIN process pb ON pb.upid = hb.upid ORDER BY arrow)";
  }
  /// Slices of threads in the order of time: name, depth, ts, dur, and the arguments named.
  static std::string calls(const std::vector<std::string>& arguments = {}) {
    std::string query = "SELECT slice.name, slice.depth, slice.ts, slice.dur";
    for (const std::string& name : arguments) {
      query += ", extract_arg(slice.arg_set_id, '" + (GetParam().argument_prefix + name) +
               "') AS " + name;
    }
    return query +
           " FROM slice JOIN thread_track ON thread_track.id = track_id ORDER BY slice.ts, "
           "slice.id";
  }
  /// Slices of operations, which lie on no thread.
  static std::string operations(const std::vector<std::string>& arguments = {}) {
    std::string query = calls(arguments);
    const std::size_t at = query.find(" JOIN");
    return query.substr(0, at) +
           " WHERE track_id NOT IN (SELECT id FROM thread_track) ORDER BY slice.ts, slice.id";
  }
};

TEST_P(Timelines, ShowCallsWithExactTimes) {
  EXPECT_EQ(asked(send_and_receive(), calls()),
            (json::array({{{"name", "MPI_Recv"}, {"depth", 0}, {"ts", 50}, {"dur", 110}},
                          {{"name", "MPI_Send"}, {"depth", 0}, {"ts", 100}, {"dur", 50}},
                          {{"name", "MPI_Barrier"}, {"depth", 0}, {"ts", 170}, {"dur", 120}},
                          {{"name", "MPI_Barrier"}, {"depth", 0}, {"ts", 200}, {"dur", 100}}})));
}

TEST_P(Timelines, ShowRanksAsProcessesInOrder) {
  const json processes = examined(send_and_receive())["processes"];
  const std::int32_t first = GetParam().first_pid;
  EXPECT_THAT(column(processes, "pid"),
              ElementsAre(std::to_string(first), std::to_string(first + 1)));
  EXPECT_THAT(column(processes, "name"), ElementsAre("Rank 0 (node-a)", "Rank 1 (node-b)"));
}

TEST_P(Timelines, ConnectASendWithItsReceiveAndTheMembersOfACollective) {
  // The receive had begun first: readers let the arrow start there.
  EXPECT_THAT(column(asked(send_and_receive(), arrows()), "arrow"),
              ElementsAre("MPI_Barrier 1 > MPI_Barrier 0", "MPI_Recv 1 > MPI_Send 0"));
}

TEST_P(Timelines, AreTheSameForAnyNumberOfMembers) {
  for (const int members : {1, 2, 4}) {
    const json report = examined(ring(4, 50), {}, members);
    EXPECT_EQ(report["slices"], 4 * 50 * (4 + 2));
    EXPECT_EQ(report["flows"], 50 * (4 + 3));
    EXPECT_EQ(report["lost_flows"], 0);
  }
}

TEST_P(Timelines, ShowWhatACallDid) {
  SampleProcess rank0(0, 4);
  const CommId odd = rank0.add_comm(0xABC, "odd", kWorld, {3, 1, 0});
  rank0.call("MPI_Send", 100, 110, {send(/*of odd*/ 1, 42, 40, odd)});
  rank0.call("MPI_Irecv", 200, 210, {recv_request(1, kAnySource, kAnyTag, 64)});
  rank0.call("MPI_Wait", 300, 310, {recv_complete(1, 3, 7, 8)});
  rank0.call("MPI_Sendrecv", 400, 410, {send(2, 5, 16), recv(3, 6, 32)});
  rank0.call("MPI_Reduce", 500, 510, {collective(0, 2, 80, 0)});
  const json rows = asked({rank0}, calls({"peer", "tag", "bytes", "source", "source_tag",
                                          "bytes_received", "buffer_bytes", "root"}));
  EXPECT_THAT(column(rows, "peer"), ElementsAre("1", "any", "3", "2", "null"));
  EXPECT_THAT(column(rows, "tag"), ElementsAre("42", "any", "7", "5", "null"));
  EXPECT_THAT(column(rows, "bytes"), ElementsAre("40", "null", "8", "16", "80"));
  EXPECT_THAT(column(rows, "source"), ElementsAre("null", "null", "null", "3", "null"));
  EXPECT_THAT(column(rows, "source_tag"), ElementsAre("null", "null", "null", "6", "null"));
  EXPECT_THAT(column(rows, "bytes_received"), ElementsAre("null", "null", "null", "32", "0"));
  EXPECT_THAT(column(rows, "buffer_bytes"), ElementsAre("null", "64", "null", "null", "null"));
  EXPECT_THAT(column(rows, "root"), ElementsAre("null", "null", "null", "null", "2"));
}

TEST_P(Timelines, ShowOneSidedCommunication) {
  SampleProcess rank0(0, 4);
  const WinId window = rank0.add_window(5, "halo");
  Fact swap = one_sided(FactKind::kCompareAndSwap, window, 3, 16, 2);
  swap.bytes_received = 8;
  rank0.call("MPI_Win_create", 50, 60, {one_sided(FactKind::kWinCreated, window, kNoPeer, 4096)});
  rank0.call("MPI_Win_lock", 100, 110, {one_sided(FactKind::kLock, window, 2, rma::kExclusive)});
  rank0.call("MPI_Put", 200, 210, {one_sided(FactKind::kPut, window, 2, 40, 1)});
  rank0.call("MPI_Compare_and_swap", 300, 310, {swap});
  rank0.call("MPI_Win_unlock_all", 400, 410, {one_sided(FactKind::kUnlock, window)});
  const json rows = asked(
      {rank0}, calls({"comm", "window", "target", "bytes", "bytes_received", "exclusive"}));
  EXPECT_THAT(column(rows, "comm"), ::testing::Each("MPI_COMM_WORLD"));
  EXPECT_THAT(column(rows, "window"), ElementsAre("halo", "halo", "halo", "halo", "halo"));
  EXPECT_THAT(column(rows, "target"), ElementsAre("null", "2", "2", "3", "null"));
  EXPECT_THAT(column(rows, "bytes"), ElementsAre("4096", "null", "40", "16", "null"));
  EXPECT_THAT(column(rows, "bytes_received"), ElementsAre("null", "null", "0", "8", "null"));
  EXPECT_THAT(column(rows, "exclusive"), ElementsAre("null", "1", "null", "null", "null"));
}

TEST_P(Timelines, ShowFiles) {
  SampleProcess rank0(0, 4);
  rank0.definitions().files = {
      {.id = 0, .comm = kWorld, .global_name = 1, .mode = kFileModeWrite, .name = "a \"file\""}};
  Fact write = transfer_fact(FactKind::kFileWrite, 0, kWorld, {512, 40, false});
  Fact read = transfer_fact(FactKind::kFileRead, 0, kWorld, {kNoOffset, 40, true});
  set_transferred(read, 30);
  const Fact started = with_request(FactKind::kFileReadRequest, 1, read);
  const Fact done = with_request(FactKind::kFileReadComplete, 1, read);
  rank0.call("MPI_File_open", 100, 110, {file_fact(FactKind::kFileOpened, 0, kWorld)});
  rank0.call("MPI_File_write_at", 200, 210, {write});
  rank0.call("MPI_File_iread_all", 300, 310, {started});
  rank0.call("MPI_Wait", 400, 410, {done});
  rank0.call("MPI_File_set_size", 500, 510, {file_fact(FactKind::kFileSize, 0, kWorld, 99)});
  const json report = examined(
      {rank0}, {calls({"file", "offset", "bytes", "bytes_requested", "size", "comm"}),
                operations({"file", "bytes", "bytes_requested"})});
  const json& rows = report["answers"][0];
  const std::string name = "a \"file\"";
  EXPECT_THAT(column(rows, "file"), ElementsAre(name, name, name, name, name));
  EXPECT_THAT(column(rows, "offset"), ElementsAre("null", "512", "null", "null", "null"));
  EXPECT_THAT(column(rows, "bytes"), ElementsAre("null", "40", "null", "30", "null"));
  EXPECT_THAT(column(rows, "bytes_requested"), ElementsAre("null", "null", "40", "40", "null"));
  EXPECT_THAT(column(rows, "size"), ElementsAre("null", "null", "null", "null", "99"));
  EXPECT_EQ(column(rows, "comm")[0], "MPI_COMM_WORLD");
  const json& lanes = report["answers"][1];
  EXPECT_THAT(column(lanes, "name"), ElementsAre("MPI_File_iread_all"));
  EXPECT_THAT(column(lanes, "dur"), ElementsAre("110"));
  EXPECT_THAT(column(lanes, "bytes"), ElementsAre("30"));
}

TEST_P(Timelines, ShowErrorsAndCommunicators) {
  SampleProcess rank0(0, 4);
  Fact error;
  error.kind = FactKind::kError;
  error.bytes = 15;
  rank0.call("MPI_Send", 100, 110, {send(1, 42, 40)});
  rank0.call("MPI_Recv", 120, 130, {error});
  const json rows = asked({rank0}, calls({"comm", "error"}));
  EXPECT_THAT(column(rows, "comm"), ElementsAre("MPI_COMM_WORLD", "null"));
  EXPECT_THAT(column(rows, "error"), ElementsAre("null", "15"));
}

TEST_P(Timelines, NestCallsAndLeaveUnfinishedOnesOpenToTheEnd) {
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Comm_dup", 100, 200);
  rank0.call("MPI_Comm_rank", 120, 130, {}, 0, /*depth=*/1);
  rank0.call("MPI_Comm_size", 130, 200, {}, 0, /*depth=*/1);
  rank0.call("MPI_Recv", 300, 900, {}, 0, 0, /*is_pending=*/true);
  const json rows = asked({rank0}, calls({"unfinished"}));
  EXPECT_THAT(column(rows, "name"),
              ElementsAre("MPI_Comm_dup", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Recv"));
  EXPECT_THAT(column(rows, "depth"), ElementsAre("0", "1", "1", "0"));
  EXPECT_THAT(column(rows, "dur"), ElementsAre("100", "10", "70", "600"));
  EXPECT_THAT(column(rows, "unfinished"), ElementsAre("null", "null", "null", "1"));
}

TEST_P(Timelines, GiveEachThreadATrack) {
  SampleProcess rank1(1, 4);
  const LocationId thread = rank1.add_thread("thread 1");
  rank1.call("MPI_Recv", 100, 300, {recv(0, 1, 8)});
  rank1.call("MPI_Recv", 150, 400, {recv(0, 2, 8)}, thread);
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Send", 90, 95, {send(1, 1, 8)});
  rank0.call("MPI_Send", 100, 105, {send(1, 2, 8)});
  const json report = examined({rank0, rank1},
                               {arrows(), R"(SELECT thread.name, slice.ts, slice.dur FROM slice
      JOIN thread_track ON thread_track.id = track_id JOIN thread USING (utid) WHERE slice.name = 'MPI_Recv'
      ORDER BY slice.ts)"});
  EXPECT_THAT(column(report["answers"][0], "arrow"),
              ElementsAre("MPI_Send 0 > MPI_Recv 1", "MPI_Send 0 > MPI_Recv 1"));
  EXPECT_EQ(report["answers"][1],
            (json::array({{{"name", "main thread"}, {"ts", 100}, {"dur", 200}},
                          {{"name", "thread 1"}, {"ts", 150}, {"dur", 250}}})));
}

TEST_P(Timelines, PutOverlappingOperationsOnTracksOfTheirOwn) {
  SampleProcess rank0(0, 4);
  rank0.call("MPI_Irecv", 100, 101, {recv_request(1, 1, 7, 64)});
  rank0.call("MPI_Isend", 110, 111, {send_request(2, 1, 7, 16)});
  rank0.call("MPI_Wait", 120, 130, {recv_complete(1, 1, 7, 8)});
  rank0.call("MPI_Wait", 140, 150, {send_complete(2)});
  rank0.call("MPI_Irecv", 200, 201, {recv_request(3, 1, 8, 64)});
  rank0.call("MPI_Irecv", 210, 211, {recv_request(4, 1, 8, 64)});
  rank0.call("MPI_Wait", 220, 230, {of_request(FactKind::kCancelled, 3)});
  rank0.call("MPI_Request_free", 240, 250, {of_request(FactKind::kRequestFreed, 4)});
  rank0.call("MPI_Ibarrier", 300, 301,
             {with_request(FactKind::kCollectiveRequest, 5, collective(0, kNoPeer, 0, 0))});
  rank0.call("MPI_Wait", 310, 320,
             {with_request(FactKind::kCollectiveComplete, 5, collective(0, kNoPeer, 0, 0))});
  const json rows = asked({rank0}, operations({"peer", "bytes", "cancelled"}));
  EXPECT_THAT(column(rows, "name"),
              ElementsAre("MPI_Irecv", "MPI_Isend", "MPI_Irecv", "MPI_Irecv", "MPI_Ibarrier"));
  EXPECT_THAT(column(rows, "depth"), ElementsAre("0", "0", "0", "0", "0"));
  EXPECT_THAT(column(rows, "ts"), ElementsAre("100", "110", "200", "210", "300"));
  EXPECT_THAT(column(rows, "dur"), ElementsAre("30", "40", "30", "40", "20"));
  EXPECT_THAT(column(rows, "bytes"), ElementsAre("8", "16", "null", "null", "0"));
  EXPECT_THAT(column(rows, "cancelled"), ElementsAre("null", "null", "1", "null", "null"));
}

TEST_P(Timelines, StandRanksThatAreEmptyOrMissing) {
  SampleProcess rank0(0, 4);
  SampleProcess rank2(2, 4);
  rank2.call("MPI_Recv", 100, 110, {recv(1, 7, 8)});  // from a rank without a trace
  SampleProcess rank3(3, 4);
  rank3.process().locations.clear();
  rank3.definitions().locations.clear();
  const json report = examined({rank0, rank2, rank3}, {}, 3);
  EXPECT_EQ(report["names"], (json{{"MPI_Recv", 1}}));
  EXPECT_THAT(column(report["processes"], "name"),
              ElementsAre("Rank 0 (node-a)", "Rank 2 (node-a)", "Rank 3 (node-b)"));
}

TEST_P(Timelines, ShowWhatWasFoundAndValues) {
  SampleProcess rank1(1, 4);
  const CommId pair = rank1.add_comm(0xABC, "pair", kWorld, {1, 3});
  rank1.call("MPI_Probe", 10, 20,
             {{.kind = FactKind::kProbed, .comm = pair, .peer = 1, .tag = 7, .bytes = 40}});
  rank1.call("MPI_Request_get_status", 30, 40, {{.kind = FactKind::kRequestReady, .request = 5}});
  rank1.call("MPI_Cart_rank", 50, 60,
             {value_fact(ValueName::kCoordinate, 2), value_fact(ValueName::kRank, -3)});
  const json rows = asked({rank1},
                          calls({"comm", "peer", "tag", "bytes", "ready", "coordinate_0", "rank"}));
  EXPECT_THAT(column(rows, "comm"), ElementsAre("pair", "null", "null"));
  EXPECT_THAT(column(rows, "peer"), ElementsAre("3", "null", "null")) << "in the world";
  EXPECT_THAT(column(rows, "tag"), ElementsAre("7", "null", "null"));
  EXPECT_THAT(column(rows, "bytes"), ElementsAre("40", "null", "null"));
  EXPECT_NE(rows[1]["ready"], nullptr);
  EXPECT_THAT(column(rows, "coordinate_0"), ElementsAre("null", "null", "2"));
  EXPECT_THAT(column(rows, "rank"), ElementsAre("null", "null", "-3"));
}

TEST_P(Timelines, StandARunWithoutAnything) { EXPECT_EQ(examined({}, {}, 2)["slices"], 0); }

TEST_P(Timelines, ShowNamesWithAnyBytes) {
  SampleProcess rank0(0, 4);
  const CommId strange = rank0.add_comm(0xABC,
                                        "a\"b\\c\nd\xff"
                                        "e\xc3(f\xe2\x82\xac",
                                        kWorld, {0, 1});
  rank0.call("MPI_Send", 100, 110, {send(1, 42, 40, strange)});
  EXPECT_THAT(column(asked({rank0}, calls({"comm"})), "comm"),
              ElementsAre("a\"b\\c\nd\xEF\xBF\xBD"
                          "e\xEF\xBF\xBD(f\xe2\x82\xac"));
}

TEST_P(Timelines, ConnectRootsWithAllOthers) {
  std::vector<SampleProcess> run;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    SampleProcess process(rank, 4);
    const auto late = static_cast<std::uint64_t>(rank);
    // A reduce to rank 2: the others leave at once. A bcast from rank 2.
    process.call("MPI_Reduce", 100 + late, rank == 2 ? 500 : 110 + late, {collective(0, 2, 8, 8)});
    process.call("MPI_Bcast", 600 - (rank == 2 ? 10 : late), 900, {collective(1, 2, 8, 8)});
    process.call("MPI_Ibcast", 1000 + late, 1010,
                 {with_request(FactKind::kCollectiveRequest, 1, collective(2, 2, 8, 8))});
    process.call("MPI_Wait", 1100, 1200,
                 {with_request(FactKind::kCollectiveComplete, 1, collective(2, 2, 8, 8))});
    run.push_back(process);
  }
  const json report = examined(run, {}, 2);
  EXPECT_EQ(report["flows"], 9);
  EXPECT_EQ(report["lost_flows"], 0);
}

INSTANTIATE_TEST_SUITE_P(Format, Timelines,
                         Values(Format{"Perfetto", perfetto::run_export, "trace.perfetto-trace",
                                       1'000'000, "debug."},
                                Format{"Chrome", chrome::run_export, "trace.json.gz", 0, "args."}),
                         [](const auto& format) { return std::string(format.param.name); });

}  // namespace
}  // namespace megascope::test
