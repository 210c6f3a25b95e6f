#include "core/clocks/time_map.h"

#include <gtest/gtest.h>

namespace megascope {
namespace {

TEST(TimeMap, IsALine) {
  const TimeMap map(1000, 0.5, 70);
  EXPECT_EQ(map.to_ns(1000), 70u);
  EXPECT_EQ(map.to_ns(1200), 170u);
  EXPECT_EQ(map.to_ns(900), 20u);
  EXPECT_EQ(map.to_ns(100), 0u) << "before the run's start";
}

TEST(TimeMap, WithoutALineLeavesTicks) {
  EXPECT_EQ(TimeMap().to_ns(123'456'789'012'345), 123'456'789'012'345u);
}

TEST(TimeMap, KeepsNanosecondsOverADay) {
  const TimeMap map(0, 0.4, 0);
  EXPECT_NEAR(static_cast<double>(map.to_ns(216'000'000'000'000)), 86.4e12, 100.0);
}

TEST(TimeMap, JoinsLinesAtKnots) {
  const TimeMap map = TimeMap::through({{1000, 0}, {2000, 500}, {3000, 2500}}, 0.5);
  EXPECT_EQ(map.to_ns(1000), 0u);
  EXPECT_EQ(map.to_ns(1500), 250u);
  EXPECT_EQ(map.to_ns(2000), 500u);
  EXPECT_EQ(map.to_ns(2500), 1500u);
  EXPECT_EQ(map.to_ns(3500), 2750u) << "behind the last at the rate that it is given";
  EXPECT_EQ(map.to_signed_ns(800), -100) << "and before the first";
}

TEST(TimeMap, OfOneKnotHasTheRateThatItIsGiven) {
  const TimeMap map = TimeMap::through({{1000, 70}}, 0.5);
  EXPECT_EQ(map.to_ns(1200), 170u);
}

TEST(TimeMap, IsMonotoneOverManyKnots) {
  std::vector<TimeMap::Knot> knots;
  for (std::uint64_t i = 0; i < 100; ++i)
    knots.push_back({i * 1000, static_cast<std::int64_t>(i * 400 + (i % 3))});
  const TimeMap map = TimeMap::through(knots, 1.0);
  for (std::uint64_t ticks = 1; ticks < 101'000; ++ticks)
    EXPECT_GE(map.to_ns(ticks), map.to_ns(ticks - 1)) << ticks;
  for (const TimeMap::Knot& knot : knots)
    EXPECT_EQ(map.to_ns(knot.ticks), static_cast<std::uint64_t>(knot.time_ns));
}

TEST(TimeMap, IsMonotoneAtTheEndOfLongSegments) {
  // An hour of a clock of 3 GHz, at rates that no binary fraction hits.
  const std::uint64_t hour = std::uint64_t{3} * 3600 * 1'000'000'000;
  for (std::int64_t odd = 0; odd < 100; ++odd) {
    const std::int64_t end_ns = std::int64_t{3600} * 1'000'000'000 + odd * 7919;
    const TimeMap map = TimeMap::through({{5, 0}, {5 + hour, end_ns}, {5 + 2 * hour, 2 * end_ns}},
                                         1.0 / 3);
    EXPECT_LE(map.to_ns(5 + hour - 1), map.to_ns(5 + hour));
    EXPECT_NEAR(static_cast<double>(map.to_ns(5 + hour - 1)), static_cast<double>(end_ns), 15.0);
  }
}

TEST(TimeMap, CountsFromAnotherStart) {
  const TimeMap map = TimeMap::through({{1000, 100}, {2000, 600}, {3000, 2600}}, 1.0)
                          .counted_from(100);
  EXPECT_EQ(map.to_ns(1000), 0u);
  EXPECT_EQ(map.to_ns(2500), 1500u);
}

}  // namespace
}  // namespace megascope
