#include "core/trace/reader.h"

#include "core/clocks/run_time.h"
#include "core/record/file_fact.h"
#include "tests/core/sample_trace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace megascope::trace {
namespace {

using encoding::pack;
using encoding::Word;
using testing::ElementsAre;
using testing::HasSubstr;

struct Seen {
  std::uint64_t enter;
  std::uint64_t leave;
  RegionId region;
  int depth;
  bool is_pending;
  std::vector<Fact> facts;

  bool operator==(const Seen&) const = default;
};

std::vector<Seen> calls_of(const TraceFile& file, LocationId location) {
  std::vector<Seen> seen;
  const auto calls = file.calls(location);
  for (Call call; calls->next(call);) {
    seen.push_back({call.enter_ns,
                    call.leave_ns,
                    call.region,
                    call.depth,
                    call.is_pending,
                    {call.facts.begin(), call.facts.end()}});
  }
  return seen;
}

std::unique_ptr<TraceFile> parsed(const SampleTrace& trace) {
  std::unique_ptr<TraceFile> file;
  const Status status = TraceFile::parse(trace.bytes(), file);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return file;
}

std::uint64_t damage_of(const TraceFile& file) {
  return file.definitions().losses[static_cast<std::size_t>(LossCause::kDamaged)];
}

/// Reads all there is; how much does not matter, only that it ends.
std::size_t read_everything(std::span<const std::byte> bytes) {
  std::unique_ptr<TraceFile> file;
  if (!TraceFile::parse(bytes, file).is_ok()) return 0;
  const RunTime time = run_time_of({clock_domain_of(file->definitions().info)});
  std::size_t count = 0;
  for (const LocationDefinition& location : file->definitions().locations) {
    const auto calls = file->calls(location.id, time.of(file->definitions().info).map);
    for (Call call; calls->next(call);) count += 1 + call.facts.size();
    Call call;
    std::vector<Fact> facts;
    (void)file->pending_call(location.id, call, facts);
  }
  for (const CommDefinition& comm : file->definitions().comms) count += expand(comm.members).size();
  return count;
}

TEST(TraceFile, GivesCallsInOrderOfEntry) {
  const SampleTrace trace = SampleTrace::rich();
  const auto file = parsed(trace);
  ASSERT_NE(file, nullptr);
  const Fact posted{.kind = FactKind::kRecvRequest,
                    .comm = 70'000,
                    .request = 9,
                    .peer = kAnySource,
                    .tag = kAnyTag,
                    .bytes = 80};
  Fact received = posted;
  received.kind = FactKind::kRecvComplete;
  EXPECT_THAT(
      calls_of(*file, 0),
      ElementsAre(
          Seen{2010,
               2015,
               1,
               0,
               false,
               {{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = 42, .bytes = 40}}},
          Seen{2020, 2070, 1, 0, false, {posted}},  // encloses the next one, which returned first
          Seen{2030, 2032, 2, 1, false, {}},
          Seen{5001, 5001 + (std::uint64_t{1} << 33), 1, 0, false, {}},
          Seen{6007, 6010, 1, 0, false, {received}}, Seen{6100, 6100, 1, 0, true, {}}));
  EXPECT_EQ(damage_of(*file), 0u);
  EXPECT_EQ(file->definitions().info.host, "node7");
  EXPECT_EQ(file->definitions().comms.at(0).members, (std::vector<RankRun>{{0, 1, 2}}));
}

TEST(TraceFile, GivesWindowsAndWhatIsDoneWithThem) {
  const SampleTrace trace = SampleTrace::rich();
  const auto file = parsed(trace);
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(file->definitions().windows,
              ElementsAre(WindowDefinition{.id = 0,
                                           .comm = 0,
                                           .global_name = 5,
                                           .flavor = WindowFlavor::kShared,
                                           .name = "halo",
                                           .size_bytes = 1 << 20,
                                           .displacement_bytes = 8}));
  EXPECT_THAT(file->definitions().groups,
              ElementsAre(GroupDefinition{.id = 0, .members = {{1, 1, 1}}}));
  const std::vector<Seen> calls = calls_of(*file, 1);
  ASSERT_EQ(calls.size(), 8u);
  EXPECT_THAT(
      calls[2].facts,
      ElementsAre(Fact{
          .kind = FactKind::kRput, .comm = 0, .request = 3, .peer = 1, .tag = 0, .bytes = 40}));
  EXPECT_THAT(calls[3].facts, ElementsAre(Fact{.kind = FactKind::kGetAccumulate,
                                               .comm = 0,
                                               .request = 4,
                                               .peer = 1,
                                               .tag = 0,
                                               .bytes = 8,
                                               .bytes_received = 16}));
  EXPECT_THAT(calls[4].facts, ElementsAre(Fact{.kind = FactKind::kRmaComplete, .request = 3}));
  EXPECT_THAT(calls[5].facts, ElementsAre(Fact{.kind = FactKind::kGroupSync,
                                               .comm = 0,
                                               .sequence = 0,
                                               .peer = kNoPeer,
                                               .tag = 0,
                                               .bytes = rma::kComplete}));
}

TEST(TraceFile, GivesFilesAndWhatIsDoneWithThem) {
  const SampleTrace trace = SampleTrace::rich();
  const auto file = parsed(trace);
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(file->definitions().files,
              ElementsAre(FileDefinition{
                  .id = 0, .comm = 0, .global_name = 5, .mode = kFileModeWrite, .name = "data"}));
  const std::vector<Seen> calls = calls_of(*file, 1);
  ASSERT_EQ(calls.size(), 8u);
  Fact write = transfer_fact(FactKind::kFileWriteRequest, 0, 0, {100, 16, false});
  write.request = 5;
  EXPECT_THAT(calls[6].facts, ElementsAre(write));
  write.kind = FactKind::kFileWriteComplete;
  EXPECT_THAT(calls[7].facts, ElementsAre(write));
}

TEST(TraceFile, ShowsThePendingCallAsPosted) {
  const SampleTrace trace = SampleTrace::rich();
  const auto file = parsed(trace);
  Call call;
  std::vector<Fact> facts;
  ASSERT_TRUE(file->pending_call(0, call, facts));
  EXPECT_EQ(call.enter_ns, 6100u);
  EXPECT_THAT(facts, ElementsAre(Fact{
                         .kind = FactKind::kRecv, .comm = 0, .peer = 1, .tag = 77, .bytes = 8}));
  EXPECT_FALSE(file->pending_call(1, call, facts));
}

TEST(TraceFile, DoesNotShowAPendingMarkWhoseCallWasRecorded) {
  SampleTrace trace;
  trace.events(0, 0, 2000, {call_word0(5, 1), call_word1(2, 0, FactKind::kNone, 0)},
               {call_word0(5, 1), 0, 0, 0});
  EXPECT_EQ(calls_of(*parsed(trace), 0).size(), 1u);
}

TEST(TraceFile, DoesNotShowAPendingCallOfAFinishedProcess) {
  SampleTrace trace;
  trace.events(0, 0, 2000, {call_word0(5, 1), call_word1(2, 0, FactKind::kNone, 0)},
               {call_word0(9, 1), 0, 0, 0});
  EXPECT_EQ(calls_of(*parsed(trace), 0).size(), 2u);
  trace.header().end_state = static_cast<std::uint32_t>(EndState::kFinalized);
  EXPECT_EQ(calls_of(*parsed(trace), 0).size(), 1u);
}

TEST(TraceFile, ReportsThatTheFirstCallsWereGivenUp) {
  const std::vector<Word> call = {call_word0(10, 3), call_word1(5, 0, FactKind::kNone, 0)};
  EXPECT_FALSE(
      parsed(SampleTrace().events(0, 0, 100, call))->definitions().locations.at(0).lacks_beginning);
  EXPECT_TRUE(
      parsed(SampleTrace().events(0, 7, 100, call))->definitions().locations.at(0).lacks_beginning);
}

TEST(TraceFile, OrdersChunksByTheirSequence) {
  SampleTrace trace;
  trace.events(0, 1, 3000, {call_word0(0, 1), 0})
      .events(0, 2, 4000, {call_word0(0, 1), 0})
      .events(0, 0, 2000, {call_word0(0, 1), 0});
  const std::vector<Seen> seen = calls_of(*parsed(trace), 0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].enter, 2000u);
  EXPECT_EQ(seen[2].enter, 4000u);
}

TEST(TraceFile, RefusesWhatIsNoTrace) {
  std::unique_ptr<TraceFile> file;
  SampleTrace trace = SampleTrace::rich();
  EXPECT_THAT(TraceFile::parse(trace.bytes().first(4095), file).message(), HasSubstr("too short"));
  trace.header().version = kFormatVersion + 1;
  EXPECT_THAT(TraceFile::parse(trace.bytes(), file).message(),
              HasSubstr("has format version 3, this program reads versions 1 to 2"));
  trace.header().magic[0] = 'X';
  EXPECT_THAT(TraceFile::parse(trace.bytes(), file).message(),
              HasSubstr("is not a MegaScope trace"));
  EXPECT_THAT(TraceFile::open("/nowhere/rank-0.mgt", file).message(),
              HasSubstr("cannot open /nowhere/rank-0.mgt"));
  EXPECT_EQ(file, nullptr);
}

TEST(TraceFile, IsNotLedToAllocateByADamagedNumber) {
  SampleTrace trace;
  trace.events(900'000, 0, 2000, {call_word0(5, 1), 0});
  const auto file = parsed(trace);
  EXPECT_LT(file->definitions().locations.size(), 1000u);
  EXPECT_EQ(damage_of(*file), 1u);
}

TEST(TraceFile, ReadsFilesCutAnywhere) {
  const SampleTrace trace = SampleTrace::rich();
  const std::size_t all = read_everything(trace.bytes());
  std::size_t before = 0;
  for (std::size_t size = 0; size <= trace.bytes().size(); size += 512) {
    const std::size_t count = read_everything(trace.bytes().first(size));
    EXPECT_LE(count, all) << size;
    if (size >= 3 * kFileHeaderBytes) {
      EXPECT_GE(count, before) << size;
    }
    before = count;
  }
  EXPECT_EQ(before, all);
}

TEST(TraceFile, ReadsFilesWithFlippedBits) {
  const SampleTrace trace = SampleTrace::rich();
  std::vector<Word> words(trace.bytes().size() / sizeof(Word));
  std::mt19937_64 random(7);
  const auto any = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  for (int round = 0; round < 10'000; ++round) {
    std::copy_n(trace.bytes().data(), trace.bytes().size(),
                reinterpret_cast<std::byte*>(words.data()));
    const std::size_t flips = 1 + any(8);
    for (std::size_t i = 0; i < flips; ++i) {
      const std::size_t page = any(words.size() / 512) * 512;
      words[page + any(64)] ^= Word{1}
                               << any(64);  // where something is: the first half KiB of a page
    }
    EXPECT_LT(read_everything(std::as_bytes(std::span(words))), std::size_t{1} << 25);
  }
}

}  // namespace
}  // namespace megascope::trace
