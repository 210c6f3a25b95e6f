#include "core/record/time_map.h"

#include <gtest/gtest.h>

namespace megascope {
namespace {

ProcessClock clock(std::int32_t rank, std::uint64_t domain, std::uint64_t start, ClockPoint first, ClockPoint last) {
  return {.world_rank = rank, .domain = domain, .kind = ClockKind::kTsc, .start_ticks = start, .first = first, .last = last};
}

TEST(TimeMap, IsALine) {
  const TimeMap map(1000, 0.5, 70);
  EXPECT_EQ(map.to_ns(1000), 70u);
  EXPECT_EQ(map.to_ns(1200), 170u);
  EXPECT_EQ(map.to_ns(900), 20u);
  EXPECT_EQ(map.to_ns(100), 0u) << "before the run's start";
}

TEST(TimeMap, WithoutALineLeavesTicks) { EXPECT_EQ(TimeMap().to_ns(123'456'789'012'345), 123'456'789'012'345u); }

TEST(TimeMap, KeepsNanosecondsOverADay) {
  const TimeMap map(0, 0.4, 0);
  EXPECT_NEAR(static_cast<double>(map.to_ns(216'000'000'000'000)), 86.4e12, 100.0);
}

TEST(RunTime, GivesProcessesOfOneDomainOneLine) {
  // Two ticks a ns. The second process starts 2000 ticks later and measured its own moments.
  const RunTime time = run_time_of({clock(0, 1, 10'000, {10'000, 0, 5'000'000}, {30'000, 10'000, 5'010'000}),
                                    clock(1, 1, 12'000, {12'000, 1'003, 5'001'007}, {20'000, 5'000, 5'005'000})});
  EXPECT_EQ(time.start_realtime_ns, 5'000'000);
  ASSERT_EQ(time.maps.size(), 2u);
  EXPECT_EQ(time.maps[0].to_ns(12'000), 1000u);
  EXPECT_EQ(time.maps[1].to_ns(12'000), 1000u);
}

TEST(RunTime, PlacesDomainsByTheClockOnTheWall) {
  // The second node counts one tick a ns from another zero, and starts 300 ns after the first by the wall clock.
  const RunTime time = run_time_of({clock(0, 1, 10'000, {10'000, 0, 5'000'000}, {30'000, 10'000, 5'010'000}),
                                    clock(1, 2, 700, {700, 0, 5'000'300}, {1'700, 1'000, 5'001'300})});
  EXPECT_EQ(time.start_realtime_ns, 5'000'000);
  EXPECT_EQ(time.maps[0].to_ns(10'000), 0u);
  EXPECT_EQ(time.maps[1].to_ns(700), 300u);
  EXPECT_EQ(time.maps[1].to_ns(1'700), 1'300u);
}

TEST(RunTime, BeginsWithTheEarliestProcess) {
  // Recording began 400 ticks (200 ns) before the moment that was measured.
  const RunTime time = run_time_of({clock(0, 1, 9'600, {10'000, 0, 5'000'000}, {30'000, 10'000, 5'010'000})});
  EXPECT_EQ(time.start_realtime_ns, 4'999'800);
  EXPECT_EQ(time.maps[0].to_ns(9'600), 0u);
  EXPECT_EQ(time.maps[0].to_ns(10'000), 200u);
}

TEST(RunTime, TakesATickForANanosecondWhereOnlyOneMomentIsKnown) {
  const RunTime time = run_time_of({clock(0, 1, 10'000, {10'000, 5, 5'000'000}, {10'000, 5, 5'000'000})});
  EXPECT_EQ(time.maps[0].to_ns(10'250), 250u);
}

}  // namespace
}  // namespace megascope
