#include "analysis/import/pytorch_timeline.h"

#include "analysis/import/collective_names.h"
#include "analysis/import/mend.h"
#include "analysis/import/source_kind.h"
#include "analysis/import/timeline_run.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>
#include <memory>

/// PyTorch profiler files, written by hand after Kineto's output_json.cpp: what operations, steps,
/// groups and messages become.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PytorchTimeline : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  /// A file as Kineto writes it. base_ns: of the times.
  void write_rank(const std::string& file, int rank, const std::string& events,
                  const std::string& base_ns = "1700000000000000000",
                  const std::string& more = "") const {
    write(
        file,
        R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "synthetic"}], "distributedInfo": {"backend": "nccl", "rank": )" +
            std::to_string(rank) + R"(, "world_size": 4)" + more +
            R"(}, "displayTimeUnit": "ms", "baseTimeNanoseconds": )" + base_ns +
            R"(, "traceEvents": [)" + events + R"(], "traceName": "/tmp/x.json"})");
  }
  Timeline read() const {
    Timeline timeline;
    timeline.source = directory_.path();
    const Status status = read_pytorch({directory_.path()}, timeline);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return timeline;
  }
  std::unique_ptr<TimelineRun> run() const {
    Timeline timeline = read();
    mend(timeline);
    ParallelGrid grid;
    OperationTable table;
    std::unique_ptr<TimelineRun> run;
    Status status = ParallelGrid::around(timeline, grid);
    status.update(OperationTable::parse(OperationTable::shipped(), table));
    if (status.is_ok()) status = TimelineRun::make(std::move(timeline), grid, table, run);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return run;
  }
  std::string refusal() const {
    Timeline timeline;
    const Status status = read_pytorch({directory_.path()}, timeline);
    EXPECT_FALSE(status.is_ok());
    return status.message();
  }

  const test::TemporaryDirectory directory_;
};

std::string event(const std::string& kind, const std::string& name, const std::string& where,
                  const std::string& times, const std::string& arguments = "") {
  return R"({"ph": "X", "cat": ")" + kind + R"(", "name": ")" + name + R"(", )" + where + ", " +
         times + R"(, "args": {)" + arguments + "}}";
}
constexpr char kThread[] = R"("pid": 4242, "tid": 4242)";
constexpr char kStream[] = R"("pid": 0, "tid": 7)";
std::string times(const std::string& begin_us, const std::string& length_us) {
  return R"("ts": )" + begin_us + R"(, "dur": )" + length_us;
}
/// A step with a kernel that was started in it and runs after it.
std::string step_with(const std::string& kernels) {
  return event("user_annotation", "ProfilerStep#12", kThread, times("100.000", "50.000")) + "," +
         event("cpu_op", "aten::mm", kThread, times("101.000", "2.000")) + "," +
         event("cuda_runtime", "cudaLaunchKernel", kThread, times("110.001", "4.000"),
               R"("correlation": 77)") +
         "," + kernels + "," +
         R"({"name": "thread_name", "ph": "M", "ts": 0.000, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}})" +
         "," +
         R"({"ph": "s", "id": 77, "pid": 4242, "tid": 4242, "ts": 110.001, "cat": "ac2g", "name": "ac2g"})" +
         "," + event("gpu_user_annotation", "ProfilerStep#12", kStream, times("200.000", "9.000")) +
         "," +
         event("Trace", "PyTorch Profiler (0)", R"("pid": "Spans", "tid": "PyTorch Profiler")",
               times("0.000", "900.000"));
}
std::string kernel(const std::string& begin_us,
                   const std::string& arguments = R"("correlation": 77)",
                   const std::string& name = "gemm<float>(int)") {
  return event("kernel", name, kStream, times(begin_us, "8.125"), arguments);
}
std::string nccl(const std::string& name, const std::string& more) {
  return R"("correlation": 77, "Collective name": ")" + name +
         R"(", "In msg nelems": 10, "Out msg nelems": 40, "Group size": 2, "dtype": "BFloat16", )" +
         more;
}

std::vector<Call> calls_of(const TimelineRun& run, std::int32_t rank, LocationId location,
                           std::vector<std::vector<Fact>>& facts) {
  std::vector<Call> calls;
  const auto stream = run.calls(rank, location);
  for (Call call; stream->next(call);) {
    facts.emplace_back(call.facts.begin(), call.facts.end());
    calls.push_back(call);
  }
  return calls;
}

TEST_F(PytorchTimeline, KernelsGetTheStepInWhichTheyWereStarted) {
  write_rank("rank-2.json", 2, step_with(kernel("200.125")));
  const Timeline timeline = read();
  EXPECT_THAT(timeline.names,
              ElementsAre("ProfilerStep", "aten::mm", "cudaLaunchKernel", "gemm<float>(int)"));
  EXPECT_THAT(timeline.operations, ElementsAre(Operation{.begin_ns = 0,
                                                         .end_ns = 50'000,
                                                         .name = 0,
                                                         .track = 1,
                                                         .specified = 1,
                                                         .may_repeat = true},
                                               Operation{.begin_ns = 1'000,
                                                         .end_ns = 3'000,
                                                         .name = 1,
                                                         .track = 1,
                                                         .specified = 1,
                                                         .may_repeat = true},
                                               Operation{.begin_ns = 10'001,
                                                         .end_ns = 14'001,
                                                         .name = 2,
                                                         .track = 1,
                                                         .specified = 1,
                                                         .may_repeat = true},
                                               Operation{.begin_ns = 100'125,
                                                         .end_ns = 108'250,
                                                         .name = 3,
                                                         .track = 0,
                                                         .step = 12,
                                                         .specified = 1}));
  ASSERT_THAT(timeline.tracks, SizeIs(2));
  EXPECT_EQ(timeline.tracks[0].stream, "stream 7");
  EXPECT_EQ(timeline.tracks[1].coordinates.rank, 2);
  EXPECT_EQ(timeline.sizes.dp, 4);
  EXPECT_THAT(timeline.notes,
              ElementsAre(HasSubstr("3 events are not operations"),
                          HasSubstr("clocks of the nodes are assumed to be synchronised")));
}

TEST_F(PytorchTimeline, WithoutAGpuOperationsOfPytorchHaveTheStep) {
  write_rank("rank0.json", 0,
             event("user_annotation", "ProfilerStep#3", kThread, times("100", "50")) + "," +
                 event("cpu_op", "aten::mm", kThread, times("101.5", "2")) + "," +
                 event("python_function", "train.py(3): main", kThread, times("90", "70")) + "," +
                 event("cpu_op", "aten::add", kThread, times("170", "1")));
  const Timeline timeline = read();
  std::vector<std::int32_t> steps;
  for (const Operation& operation : timeline.operations) steps.push_back(operation.step);
  EXPECT_THAT(steps,
              ElementsAre(kUnknown, 3, kUnknown, kUnknown));  // the last one begins after the step
}

TEST_F(PytorchTimeline, TimesOfFilesWithOtherBasesMeet) {
  write_rank("a_rank_0.json", 0, step_with(kernel("200.125")));
  write_rank("a_rank_1.json", 1, step_with(kernel("200.125")), "1700000000000100001");
  const Timeline timeline = read();
  EXPECT_TRUE(timeline.has_common_clock);
  EXPECT_EQ(timeline.operations[0].begin_ns, 0u);
  EXPECT_EQ(timeline.operations[4].begin_ns, 100'001u);
}

TEST_F(PytorchTimeline, MicrosecondsSince1970AreExact) {
  const std::string
      old = R"({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [)";
  write("rank0.json", old + event("cpu_op", "a", kThread, times("1700000000000000.125", "1.001")) +
                          "," + event("cpu_op", "b", kThread, times("1700000000000001.126", "1")) +
                          "]}");
  const Timeline timeline = read();
  EXPECT_TRUE(timeline.has_common_clock);
  EXPECT_EQ(timeline.operations[0].end_ns, 1001u);
  EXPECT_EQ(timeline.operations[1].begin_ns, 1001u);
}

TEST_F(PytorchTimeline, CollectivesBelongTogetherByGroupAndSequence) {
  const std::string group = R"("Process Group Name": "3", "Process Group Ranks": "[1, 3]", )";
  const auto reduce = [&](const char* begin, int sequence) {
    return kernel(begin, nccl("allreduce", group + R"("Seq": )" + std::to_string(sequence)),
                  "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)");
  };
  write_rank("rank1.json", 1, step_with(reduce("200", 5) + "," + reduce("220", 6)));
  write_rank("rank3.json", 3, step_with(reduce("202", 6) + "," + reduce("230", 7)));
  const std::unique_ptr<TimelineRun> both = run();
  EXPECT_THAT(both->world_ranks(), ElementsAre(1, 3));
  EXPECT_EQ(both->world_size(), 4);
  const ProcessDefinitions& process = both->process(3);
  ASSERT_THAT(process.comms, SizeIs(2));
  EXPECT_EQ(process.comms[1].name, "process group 3");
  EXPECT_EQ(process.comms[1].my_rank, 1);
  EXPECT_THAT(process.comms[1].members, ElementsAre(RankRun{1, 2, 2}));
  EXPECT_EQ(process.comms[1].global_name, both->process(1).comms[1].global_name);
  std::vector<std::vector<Fact>> of_one;
  std::vector<std::vector<Fact>> of_three;
  const std::vector<Call> calls = calls_of(*both, 1, 0, of_one);
  (void)calls_of(*both, 3, 0, of_three);
  ASSERT_THAT(of_one, SizeIs(2));
  ASSERT_THAT(of_three, SizeIs(2));
  EXPECT_EQ(of_one[0][0], (Fact{.kind = FactKind::kCollective,
                                .comm = 1,
                                .sequence = 0,
                                .bytes = 20,
                                .bytes_received = 80}));
  EXPECT_EQ(of_one[1][0].sequence, 1u);
  EXPECT_EQ(of_three[0][0].sequence, 1u);  // sequence 6
  EXPECT_EQ(of_three[1][0].sequence, 2u);
  const RegionDefinition* region = both->process(1).region(calls[0].region);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(*region, (RegionDefinition{.id = region->id,
                                       .name = "nccl:allreduce",
                                       .role = RegionRole::kCollAllToAll,
                                       .paradigm = Paradigm::kUser,
                                       .collective_op = CollectiveOp::kAllreduce,
                                       .group = "coll"}));
}

TEST_F(PytorchTimeline, GroupsAreReadFromTheHeaderWhereEventsCutThem) {
  const std::string more =
      R"(, "pg_config": [{"pg_name": "9", "pg_desc": "mesh", "pg_size": 3, "ranks": [0, 1, 2]}, {"pg_name": "0", "ranks": [0, 1, 2, 3]}])";
  const std::string call = kernel(
      "200", nccl("_allgather_base",
                  R"("Process Group Name": "9", "Process Group Ranks": "[0, 1, ...]")"));
  write_rank("rank0.json", 0, step_with(call), "1700000000000000000", more);
  write_rank("rank2.json", 2, step_with(call), "1700000000000000000", more);
  EXPECT_THAT(run()->process(2).comms[1].members, ElementsAre(RankRun{0, 1, 3}));
}

TEST_F(PytorchTimeline, MessagesKnowTheirOtherEnd) {
  const auto message = [](const char* what, const char* begin, int peer) {
    const std::string side = std::string(what) == "send" ? "Dst Rank" : "Src Rank";
    return kernel(
        begin,
        nccl(what, R"("Process Group Name": "0", ")" + side + R"(": )" + std::to_string(peer)),
        "ncclDevKernel_SendRecv(ncclDevComm*)");
  };
  write_rank("rank0.json", 0,
             step_with(message("send", "200", 1) + "," + message("send", "210", 1)));
  write_rank("rank1.json", 1,
             step_with(message("recv", "203", 0) + "," + message("recv", "222", 0) + "," +
                       message("recv", "240", 7)));
  const std::unique_ptr<TimelineRun> both = run();
  std::vector<std::vector<Fact>> sent;
  std::vector<std::vector<Fact>> received;
  (void)calls_of(*both, 0, 0, sent);
  const std::vector<Call> receives = calls_of(*both, 1, 0, received);
  EXPECT_EQ(sent[0][0],
            (Fact{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = 0, .bytes = 20}));
  EXPECT_EQ(
      received[1][0],
      (Fact{.kind = FactKind::kRecv, .comm = 0, .peer = 0, .tag = sent[1][0].tag, .bytes = 80}));
  EXPECT_EQ(both->process(1).region(receives[1].region)->name, "nccl:recv");
  EXPECT_EQ(received[2][0].kind, FactKind::kValue);  // of no rank of this world: only its step
}

TEST_F(PytorchTimeline, CollectivesWithoutAGroupAreOfAllWhereAllHaveThem) {
  const std::string
      reduce = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)";
  const std::string
      gather = "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)";
  const auto call = [](const char* begin, const std::string& name) {
    return kernel(begin, R"("correlation": 77)", name);
  };
  write_rank(
      "rank0.json", 0,
      step_with(call("200", reduce) + "," + call("210", reduce) + "," + call("230", gather)));
  write_rank("rank1.json", 1, step_with(call("201", reduce) + "," + call("212", reduce)));
  const std::unique_ptr<TimelineRun> both = run();
  std::vector<std::vector<Fact>> facts;
  (void)calls_of(*both, 0, 0, facts);
  EXPECT_EQ(facts[0][0].kind, FactKind::kCollective);
  EXPECT_EQ(facts[1][0].sequence, 1u);
  EXPECT_EQ(facts[2][0].kind, FactKind::kValue);  // rank 1 has none
  EXPECT_EQ(both->process(0).regions.back().name, "ncclKernel_AllGather_RING_LL_Sum_int8_t");
  EXPECT_THAT(both->timeline().notes.back(), HasSubstr("do not name their group"));
}

TEST_F(PytorchTimeline, FilesOfABuildWithoutKinetoCountFromTheirOwnBegin) {
  const auto legacy = [](int shift) {
    const auto x = [shift](const char* name, int begin, int length, int thread) {
      return R"({"name": ")" + std::string(name) + R"(", "ph": "X", "ts": )" +
             std::to_string(begin + shift) + R"(, "dur": )" + std::to_string(length) +
             R"(, "tid": )" + std::to_string(thread) + R"(, "pid": "CPU functions", "args": {}})";
    };
    return "[" + x("ProfilerStep#4", 0, 50, 1) + "," + x("aten::mm", 5, 6, 1) + "," +
           x("gloo:all_reduce", 20, 9, 2) + "]";
  };
  write("rank-0.11.pt.trace.json", legacy(1000));
  write("rank-1.12.pt.trace.json", legacy(7));
  EXPECT_EQ(format_of({directory_ / "rank-0.11.pt.trace.json"}), "pytorch");
  const std::unique_ptr<TimelineRun> both = run();
  EXPECT_FALSE(both->timeline().has_common_clock);
  EXPECT_EQ(both->timeline().operations[0].begin_ns, 0u);
  EXPECT_EQ(both->timeline().operations[1].begin_ns, 0u);
  std::vector<std::vector<Fact>> facts;
  (void)calls_of(*both, 1, 1, facts);
  EXPECT_EQ(facts[0][0], (Fact{.kind = FactKind::kCollective, .comm = 1, .sequence = 0}));
}

TEST_F(PytorchTimeline, DamageIsCountedAndAFileThatCannotBeReadIsLeftOut) {
  write_rank("rank0.json", 0,
             step_with(event("kernel", "k", kStream, R"("ts": 200, "dur": -0.027)")));
  write("rank1.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "k", "ts": 1)");
  write("memory.json", "{}");
  Timeline timeline = read();
  EXPECT_EQ(timeline.repairs.count(RepairKind::kNegativeDuration), 1u);
  EXPECT_EQ(timeline.repairs.first(RepairKind::kNegativeDuration), "rank0.json, event 3");
  EXPECT_THAT(
      timeline.notes,
      ElementsAre(HasSubstr("memory.json: it contains no array of events; this file was omitted"),
                  HasSubstr("rank1.json: invalid JSON after byte"), HasSubstr("3 events"),
                  HasSubstr("clocks")));
}

TEST_F(PytorchTimeline, EqualOperationsOnTheCpuAreTwoAndOnAStreamOne) {
  const std::string op = event("cpu_op", "aten::resolve_conj", kThread, times("1", "0"));
  const std::string reduce = kernel("200",
                                    nccl("allreduce", R"("Process Group Name": "0", "Seq": 1)"),
                                    "ncclDevKernel_AllReduce()");
  write_rank("rank0.json", 0,
             step_with(op + "," + op + "," + kernel("190") + "," + kernel("190") + "," + reduce +
                       "," + reduce));
  Timeline timeline = read();
  mend(timeline);
  EXPECT_EQ(timeline.repairs.count(RepairKind::kDuplicate), 2u);
  EXPECT_THAT(timeline.operations, SizeIs(3 + 2 + 1 + 1));
}

TEST_F(PytorchTimeline, RefusalsNameTheFile) {
  EXPECT_THAT(refusal(), HasSubstr(directory_.path() + " contains no *.json and no *.json.gz"));
  write("a.json", R"({"traceEvents": [{"ph": "X", "name": "k", "ts": 1, "dur": 1}]})");
  write("b.json", R"({"traceEvents": [{"ph": "X", "name": "k", "ts": 1, "dur": 1}]})");
  EXPECT_THAT(refusal(), HasSubstr("a.json: the file specifies no rank; add"));
  write_rank("b.json", -4, step_with(kernel("200")));
  write_rank("a.json", 0, step_with(kernel("1e300")));
  EXPECT_THAT(refusal(), HasSubstr("a.json: event 3: \"ts\" is out of range"));
}

TEST(RankInName, IsTheNumberBehindTheWord) {
  EXPECT_EQ(rank_in_name("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), 34);
  EXPECT_EQ(rank_in_name("trace_rank_3.json"), 3);
  EXPECT_EQ(rank_in_name("Rank12_trace.json.gz"), 12);
  EXPECT_EQ(rank_in_name("ranked_5.json"), kUnknown);
  EXPECT_EQ(rank_in_name("node7_1234.pt.trace.json"), kUnknown);
  EXPECT_EQ(rank_in_name("rank99999999999.json"), kUnknown);
}

TEST(CommunicationNames, AreThoseOfPytorchAndNccl) {
  EXPECT_EQ(communication_of("_reduce_scatter_base").op, CollectiveOp::kReduceScatter);
  EXPECT_EQ(communication_of("all_to_allv").op, CollectiveOp::kAlltoall);
  EXPECT_EQ(communication_of("_reduce_oop").op, CollectiveOp::kReduce);
  EXPECT_EQ(
      communication_of("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)").op,
      CollectiveOp::kAllgather);
  EXPECT_EQ(communication_of("recv").kind, CommunicationName::Kind::kReceive);
  EXPECT_EQ(communication_of("ncclDevKernel_SendRecv(x)").kind, CommunicationName::Kind::kOther);
  EXPECT_EQ(communication_of("wait").kind, CommunicationName::Kind::kNone);
  EXPECT_EQ(element_bytes("BFloat16"), 2u);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1u);
  EXPECT_EQ(element_bytes("?"), 0u);
}

}  // namespace
}  // namespace megascope::importer
