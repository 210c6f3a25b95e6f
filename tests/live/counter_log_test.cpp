#include "plugin/live/model/counter_log.h"

#include <gmock/gmock.h>

#include <map>

namespace megascope::live {
namespace {

std::map<std::uint32_t, std::vector<std::int64_t>> steps_in(const CounterLog& log) {
  std::map<std::uint32_t, std::vector<std::int64_t>> steps;
  for (std::size_t i = 0; i < log.size(); ++i) steps[log.entry(i).id].push_back(log.entry(i).step);
  return steps;
}

TEST(LiveCounterLog, KeepsCurvesFromTheirBeginHoweverLong) {
  constexpr std::size_t kBytes = 64 << 10;
  CounterLog log(kBytes);
  for (std::int64_t step = 0; step < 100'000; ++step) {
    for (std::uint32_t id = 0; id < 3; ++id)
      log.add({.step = step, .id = id, .value = static_cast<double>(step)});
  }
  EXPECT_EQ(log.end(), 300'000U);
  EXPECT_LE(log.size(), kBytes / 32);
  const auto steps = steps_in(log);
  ASSERT_EQ(steps.size(), 3U);
  for (const auto& [id, curve] : steps) {
    EXPECT_EQ(curve.front(), 0) << "the begin";
    EXPECT_EQ(curve.back(), 99'999) << "and the end";
    EXPECT_TRUE(std::ranges::is_sorted(curve));
    EXPECT_GT(curve.size(), 300U);
    EXPECT_EQ(std::vector(curve.end() - 100, curve.end()).front(), 99'900)
        << "what is new is not thinned";
  }
}

TEST(LiveCounterLog, IsReadByNumbersThatStay) {
  CounterLog log(32 * 100);
  for (std::int64_t step = 0; step < 250; ++step) log.add({.step = step, .id = 0, .value = 0.0});
  for (std::uint64_t number = 0; number < 260; ++number) {
    const std::size_t index = log.index_of(number);
    if (index == log.size()) {
      EXPECT_GE(number, log.end());
      continue;
    }
    EXPECT_GE(log.number_at(index), number);
    EXPECT_EQ(static_cast<std::uint64_t>(log.entry(index).step), log.number_at(index))
        << "the entry that had the number";
    if (index > 0) {
      EXPECT_LT(log.number_at(index - 1), number);
    }
  }
}

TEST(LiveCounterLog, IsBoundedForAnyCounters) {
  CounterLog log(32 * 64);
  for (std::uint32_t id = 0; id < 5'000; ++id) log.add({.step = 1, .id = id, .value = 0.0});
  EXPECT_LE(log.size(), 64U);
  EXPECT_EQ(log.entry(log.size() - 1).id, 4'999U);
}

}  // namespace
}  // namespace megascope::live
