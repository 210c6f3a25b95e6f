#include "core/encoding/hook_words.h"
#include "core/record/mpi_calls.h"
#include "core/record/user_regions.h"
#include "core/trace/reader.h"
#include "tests/core/sample_trace.h"

#include <gmock/gmock.h>

/// What a program told, read together with its calls.
namespace megascope::trace {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr RegionId kStep = kFirstProgramRegion;

/// Entry, leave, region, pending.
using Seen = std::tuple<std::uint64_t, std::uint64_t, RegionId, bool>;

std::vector<Seen> calls_of(const TraceFile& file, LocationId location) {
  std::vector<Seen> seen;
  const auto calls = file.calls(location);
  for (Call call; calls->next(call);)
    seen.emplace_back(call.enter_ns, call.leave_ns, call.region, call.is_pending);
  return seen;
}

std::unique_ptr<TraceFile> parse(const SampleTrace& trace) {
  std::unique_ptr<TraceFile> file;
  const Status status = TraceFile::parse(trace.bytes(), file);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return file;
}

TEST(HookReader, RegionsAndCallsComeInOrderOfEntryWithTheirLeaves) {
  const SampleTrace trace = SampleTrace::with_hooks();
  const auto file = parse(trace);
  EXPECT_THAT(calls_of(*file, 0),
              ElementsAre(Seen(2005, 3000, kStep, false), Seen(2010, 2015, 1, false),
                          Seen(2020, 2070, 1, false), Seen(2030, 2032, 2, false),
                          Seen(3001, 3003, kStep, false), Seen(3002, 3003, kStep, false),
                          Seen(3004, 6100, kStep, true),  // up to the trace's end
                          Seen(5001, 5001 + (std::uint64_t{1} << 33), 1, false),
                          Seen(6007, 6010, 1, false), Seen(6100, 6100, 1, true)));
  EXPECT_EQ(calls_of(*file, 1).size(), 8u) << "where nothing is told, nothing changes";
  EXPECT_EQ(file->definitions().losses[static_cast<std::size_t>(LossCause::kDamaged)], 0u);
}

TEST(HookReader, ARegionHasItsNumbers) {
  const SampleTrace trace = SampleTrace::with_hooks();
  const auto file = parse(trace);
  const auto calls = file->calls(0);
  Call call;
  ASSERT_TRUE(calls->next(call));
  EXPECT_EQ(annotated_step(call), 7);
  EXPECT_THAT(std::vector<Fact>(call.facts.begin(), call.facts.end()),
              ElementsAre(value_fact(ValueName::kStep, 7),
                          value_fact(ValueName::kLayer, std::int64_t{1} << 40)));
}

TEST(HookReader, PointsComeInOrderOfTime) {
  const SampleTrace trace = SampleTrace::with_hooks();
  const auto file = parse(trace);
  const auto points = file->points(0);
  ASSERT_NE(points, nullptr);
  Point point;
  ASSERT_TRUE(points->next(point));
  EXPECT_EQ(point, (Point{.time_ns = 2012, .kind = PointKind::kCounter, .id = 0, .value = 0.5}));
  ASSERT_TRUE(points->next(point));
  EXPECT_EQ(point, (Point{.time_ns = 2013, .kind = PointKind::kMark, .id = kStep}));
  ASSERT_TRUE(points->next(point));
  EXPECT_EQ(point,
            (Point{.time_ns = 2013, .kind = PointKind::kRangeStart, .id = kStep, .range = 3}));
  ASSERT_TRUE(points->next(point));
  EXPECT_EQ(point, (Point{.time_ns = 2014,
                          .kind = PointKind::kRangeStop,
                          .id = kStep,
                          .range = 3,
                          .start_ns = 2013}));
  ASSERT_TRUE(points->next(point));
  EXPECT_EQ(point.time_ns, 2500u);
  EXPECT_EQ(point.tensor.type, ElementType::kBfloat16);
  EXPECT_THAT(std::span(point.tensor.extents).first(point.tensor.dimension_count),
              ElementsAre(8, 16));
  EXPECT_FALSE(points->next(point));
  EXPECT_EQ(file->points(1), nullptr);
}

TEST(HookReader, DefinitionsOfCountersAndTensorsAreRead) {
  const SampleTrace trace = SampleTrace::with_hooks();
  const auto file = parse(trace);
  EXPECT_THAT(file->definitions().counters, ElementsAre(CounterDefinition{0, "loss", "nats"}));
  EXPECT_THAT(file->definitions().tensors, ElementsAre("wte"));
}

TEST(HookReader, AThreadThatOnlyAnnotatesIsThere) {
  SampleTrace trace = SampleTrace::with_hooks();
  trace.hooks(
      4, 0, 2000,
      {hook_words::timed(2000, 2000, kStep), hook_words::timed(2100, 2000, hook_words::kLeave)});
  const auto file = parse(trace);
  ASSERT_EQ(file->definitions().locations.size(), 5u);
  EXPECT_THAT(calls_of(*file, 4), ElementsAre(Seen(2000, 2100, kStep, false)));
  EXPECT_THAT(calls_of(*file, 3), ElementsAre());
}

TEST(HookReader, LeavesWhoseEntryWasGivenUpAreIgnored) {
  SampleTrace trace = SampleTrace::with_hooks();
  trace.hooks(
      1, 3, 3000,
      {hook_words::timed(3000, 3000, hook_words::kLeave), hook_words::timed(3003, 3000, kStep),
       hook_words::timed(3009, 3000, hook_words::kLeave),
       hook_words::timed(3010, 3000, hook_words::kLeave)});
  const auto file = parse(trace);
  std::vector<Seen> regions;
  for (const Seen& seen : calls_of(*file, 1)) {
    if (std::get<2>(seen) == kStep) regions.push_back(seen);
  }
  EXPECT_THAT(regions, ElementsAre(Seen(3003, 3009, kStep, false)));
}

TEST(HookReader, DamageEndsTheChunkAndIsCounted) {
  SampleTrace trace = SampleTrace::with_hooks();
  trace.hooks(1, 0, 3000,
              {hook_words::timed(3003, 3000, kStep), 0xFFFF,
               hook_words::timed(3009, 3000, hook_words::kLeave)});
  trace.hooks(1, 1, 4000, {hook_words::timed(4000, 4000, hook_words::kLeave)});
  const auto file = parse(trace);
  bool is_seen = false;
  for (const Seen& seen : calls_of(*file, 1)) is_seen |= seen == Seen(3003, 4000, kStep, false);
  EXPECT_TRUE(is_seen);
}

}  // namespace
}  // namespace megascope::trace
