#include "analysis/cpu/cpu_times.h"

#include "core/record/cpu_reading.h"
#include "tests/support/sample_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace megascope::cpu {
namespace {

using test::make_source;
using test::SampleProcess;

constexpr std::uint64_t kMs = 1'000'000;

void add_reading(std::vector<Point>& points, std::uint64_t time_ns, double cpu_ms, double wait_ms,
                 double switches = 0) {
  const auto add = [&](CpuCounter counter, double value) {
    points.push_back({.time_ns = time_ns,
                      .kind = PointKind::kCounter,
                      .id = cpu_counter_id(counter),
                      .value = value});
  };
  add(CpuCounter::kCpuTime, cpu_ms * 1e6);
  if (wait_ms >= 0) add(CpuCounter::kCoreWait, wait_ms * 1e6);
  add(CpuCounter::kInvoluntarySwitches, switches);
}

/// One rank that calls MPI at the given times.
class OneRank {
 public:
  OneRank() { process_.process().points.resize(1); }
  void call(std::uint64_t enter_ms, std::uint64_t leave_ms) {
    process_.call("MPI_Recv", enter_ms * kMs, leave_ms * kMs);
  }
  void read(std::uint64_t time_ms, double cpu_ms, double wait_ms, double switches = 0) {
    add_reading(points(), time_ms * kMs, cpu_ms, wait_ms, switches);
  }
  std::vector<Point>& points() { return process_.process().points[0]; }

  RankCpu times(const std::vector<std::uint64_t>& step_ends_ms) const {
    const MemorySource source = make_source(1, {process_});
    detect::StepTimes steps;
    for (const std::uint64_t end_ms : step_ends_ms) steps.ends_ns.push_back(end_ms * kMs);
    return cpu_times(source, {steps}, 1).front();
  }
  RankCpu sums() const {
    const MemorySource source = make_source(1, {process_});
    return cpu_sums(source).front();
  }

 private:
  SampleProcess process_{0, 1};
};

TEST(CpuTimes, ReadingsAroundCallsAnnotateOutsideFromInside) {
  OneRank rank;
  rank.read(0, 0, 0);
  rank.call(80, 100);  // polls: its CPU time is no work
  rank.read(80, 50, 30, 4);
  rank.read(100, 69, 31, 5);
  const RankCpu times = rank.times({100});
  ASSERT_EQ(times.steps.size(), 1u);
  EXPECT_DOUBLE_EQ(times.steps[0].outside.wall_ns, 80e6);
  EXPECT_DOUBLE_EQ(times.steps[0].outside.cpu_ns, 50e6);
  EXPECT_DOUBLE_EQ(times.steps[0].outside.wait_ns, 30e6);
  EXPECT_DOUBLE_EQ(times.steps[0].outside.switches, 4);
  EXPECT_DOUBLE_EQ(times.steps[0].inside.cpu_ns, 19e6);
  EXPECT_DOUBLE_EQ(times.steps[0].inside.wait_ns, 1e6);
  EXPECT_DOUBLE_EQ(times.measured_share, 1.0);
  EXPECT_DOUBLE_EQ(times.interpolated_share, 0.0);
}

TEST(CpuTimes, AnIntervalWithBothIsDividedAsTheMeasuredOnesAre) {
  OneRank rank;
  rank.read(0, 0, 0);
  rank.read(100, 60, 40);  // outside: 40 % waiting
  rank.call(100, 200);
  rank.read(200, 160, 40);  // inside: none
  rank.call(300, 400);
  rank.read(400, 320, 80);  // both: all of the wait is outside
  const RankCpu times = rank.times({400});
  EXPECT_NEAR(times.whole.outside.wait_ns, 80e6, 1);
  EXPECT_NEAR(times.whole.inside.wait_ns, 0, 1);
  EXPECT_NEAR(times.whole.outside.cpu_ns + times.whole.inside.cpu_ns, 320e6, 1);
  EXPECT_LE(times.whole.inside.cpu_ns, 200e6 + 1);
  EXPECT_DOUBLE_EQ(times.measured_share, 0.5);
}

TEST(CpuTimes, WhereStepsEndBetweenReadingsItIsDividedByTime) {
  OneRank rank;
  rank.read(0, 0, 0);
  rank.read(100, 80, 20);
  const RankCpu times = rank.times({50, 100});
  ASSERT_EQ(times.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(times.steps[0].outside.cpu_ns, 40e6);
  EXPECT_DOUBLE_EQ(times.steps[1].outside.wait_ns, 10e6);
  EXPECT_DOUBLE_EQ(times.interpolated_share, 1.0);
  const RankCpu exact = [] {
    OneRank other;
    other.read(0, 0, 0);
    other.read(50, 40, 10);
    other.read(100, 80, 20);
    return other.times({50, 100});
  }();
  EXPECT_DOUBLE_EQ(exact.interpolated_share, 0.0);
}

TEST(CpuTimes, WhatTheKernelDoesNotReportIsUnknown) {
  OneRank rank;
  rank.read(0, 0, -1);
  rank.read(100, 80, -1);
  const RankCpu times = rank.times({100});
  EXPECT_FALSE(times.has_wait);
  EXPECT_TRUE(times.has_readings());
  EXPECT_DOUBLE_EQ(times.steps[0].outside.cpu_ns, 80e6);
}

TEST(CpuTimes, WithoutReadingsThereIsNothing) {
  OneRank rank;
  rank.call(10, 20);
  EXPECT_FALSE(rank.times({20}).has_readings());
  EXPECT_TRUE(rank.times({20}).steps.empty());
}

TEST(CpuTimes, SumsNeedNoCalls) {
  OneRank rank;
  rank.read(0, 10, 0);
  rank.call(20, 40);
  rank.read(50, 40, 15);
  EXPECT_DOUBLE_EQ(rank.sums().whole.outside.cpu_ns, 30e6);
  EXPECT_DOUBLE_EQ(rank.sums().whole.outside.wait_ns, 15e6);
  EXPECT_DOUBLE_EQ(rank.sums().whole.outside.wall_ns, 50e6);
}

/// Points come from files that anybody may have written: sums stay finite, are never negative, and
/// add up.
TEST(CpuTimes, DamagedReadingsDoNoHarm) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    OneRank rank;
    std::uint64_t at_ms = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      at_ms += random() % 20;
      rank.read(at_ms, static_cast<double>(at_ms) * 0.7, static_cast<double>(at_ms) * 0.2);
      if (i % 2 == 0) rank.call(at_ms, at_ms + random() % 10);
    }
    std::vector<Point>& points = rank.points();
    for (int change = 0; change < 4; ++change) {
      Point& point = points[random() % points.size()];
      switch (random() % 5) {
        case 0:
          point.value = std::numeric_limits<double>::quiet_NaN();
          break;
        case 1:
          point.value = -1e300;
          break;
        case 2:
          point.value = std::numeric_limits<double>::infinity();
          break;
        case 3:
          point.id = static_cast<CounterId>(random());
          break;
        default:
          point.time_ns = random();
      }
    }
    const RankCpu times = rank.times({20, 60, 90});
    for (const SplitSums& step : times.steps) {
      for (const CpuSums& sums : {step.outside, step.inside}) {
        for (const double value : {sums.wall_ns, sums.cpu_ns, sums.wait_ns, sums.switches}) {
          ASSERT_TRUE(std::isfinite(value) && value >= 0) << round << ": " << value;
        }
      }
    }
  }
}

}  // namespace
}  // namespace megascope::cpu
