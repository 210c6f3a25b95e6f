#include "plugin/capture/counter_past.h"

#include "plugin/capture/counter_slots.h"

#include <gmock/gmock.h>

#include <cmath>
#include <malloc.h>
#include <map>
#include <memory>
#include <thread>

namespace megascope::capture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Curve = std::map<std::int64_t, double>;

/// A rank's counters, and what rank 0 has of them.
struct Reported {
  CounterPast past;
  std::map<CounterId, Curve> curves;
  std::size_t max_values = 0;  ///< of a letter
  int twice = 0;

  void want(CounterId counter) {
    past.want(counter, true);
    past.name(counter);
  }
  /// False: it had nothing.
  bool rank_update(std::size_t space = kMaxRankUpdateBytes) {
    RankUpdateWriter writer(space);
    past.put(writer);
    const std::vector<std::byte> bytes = writer.take();
    RankUpdateReader reader(bytes);
    std::size_t values = 0;
    for (auto item = reader.next(); item != RankUpdateReader::Item::kEnd; item = reader.next()) {
      EXPECT_TRUE(item == RankUpdateReader::Item::kCounterReadings ||
                  item == RankUpdateReader::Item::kPastReadings);
      const CounterReadings& readings = reader.counter_readings;
      for (std::size_t i = 0; i < readings.ids.size(); ++i)
        twice += curves[readings.ids[i]].insert_or_assign(readings.step, readings.values[i]).second
                     ? 0
                     : 1;
      values += readings.ids.size();
    }
    max_values = std::max(max_values, values);
    return values != 0;
  }
};

TEST(CounterPast, ReportsWhatWasBeforeAnybodyLooked) {
  Reported reported;
  for (std::int64_t step = 0; step < 10; ++step)
    reported.past.set(3, step, static_cast<double>(step) * 2);
  EXPECT_FALSE(reported.rank_update()) << "no client looks";
  reported.want(3);
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[3].size(), 10U);
  EXPECT_EQ(reported.curves[3].at(7), 14.0);
  reported.past.set(3, 10, 5.0);
  EXPECT_TRUE(reported.rank_update());
  EXPECT_EQ(reported.curves[3].at(10), 5.0);
  EXPECT_FALSE(reported.rank_update());
  EXPECT_EQ(reported.twice, 0);
}

TEST(CounterPast, NewValuesComeBesideTheOldOnesAndEachOnce) {
  Reported reported;
  constexpr int kCounters = 100;
  const auto set_all = [&](std::int64_t step) {
    for (CounterId id = 0; id < kCounters; ++id)
      reported.past.set(id, step, static_cast<double>(step) + id);
  };
  for (std::int64_t step = 0; step < 900; ++step) set_all(step);
  for (CounterId id = 0; id < kCounters; ++id) reported.want(id);
  int rank_updates = 0;
  std::int64_t step = 900;
  for (; rank_updates == 0 || reported.curves[0].size() < static_cast<std::size_t>(step);
       ++rank_updates, ++step) {
    set_all(step);
    ASSERT_TRUE(reported.rank_update());
    EXPECT_TRUE(reported.curves[99].contains(step)) << "the newest is not held up by the past";
    ASSERT_LT(rank_updates, 50);
  }
  EXPECT_GT(rank_updates, 5) << "90,000 values are not told at once";
  EXPECT_LE(reported.max_values, CounterPast::kMaxInARankUpdate + kCounters);
  EXPECT_EQ(reported.twice, 0);
  for (const auto& [id, curve] : reported.curves)
    EXPECT_EQ(curve.size(), static_cast<std::size_t>(step)) << id;
}

TEST(CounterPast, OfLongRunsValuesAreEvenlyThinned) {
  Reported reported;
  for (std::int64_t step = 0; step < 100'000; ++step)
    reported.past.set(0, step, std::sqrt(static_cast<double>(step)));
  reported.want(0);
  while (reported.rank_update()) {
  }
  const Curve& curve = reported.curves[0];
  EXPECT_GT(curve.size(), CounterPast::kMaxOfOne / 2);
  EXPECT_LE(curve.size(), CounterPast::kMaxOfOne + 1);
  EXPECT_EQ(curve.begin()->first, 0);
  EXPECT_EQ(curve.rbegin()->first, 99'999) << "the newest";
  std::int64_t before = -128;
  for (auto at = curve.begin(); std::next(at) != curve.end(); ++at) {
    EXPECT_EQ(at->first - before, 128);
    EXPECT_EQ(at->second, std::sqrt(static_cast<double>(at->first)));
    before = at->first;
  }
}

TEST(CounterPast, OfManyCountersFewerValuesAreKept) {
  Reported reported;
  reported.past.share_with(64);  // 8192 values for this rank
  for (std::int64_t step = 0; step < 2000; ++step) {
    for (CounterId id = 0; id < 100; ++id) reported.past.set(id, step, 1.0);
  }
  for (CounterId id = 0; id < 100; ++id) reported.want(id);
  while (reported.rank_update()) {
  }
  std::size_t values = 0;
  for (const auto& [id, curve] : reported.curves) values += curve.size();
  EXPECT_EQ(reported.curves.size(), 100U);
  EXPECT_LE(values, CounterPast::kMaxOfAllRanks / 64 + 100);
  EXPECT_GE(values, CounterPast::kMaxOfAllRanks / 64 / 4);
}

TEST(CounterPast, WhatNoneLookedAtInBetweenComesWhenSomebodyDoesAgain) {
  Reported reported;
  const auto set = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t step = begin; step < end; ++step) {
      reported.past.set(0, step, static_cast<double>(step));
      (void)reported.rank_update();
    }
  };
  set(0, 5);
  reported.want(0);
  set(5, 10);
  reported.past.want(0, false);
  set(10, 20);
  EXPECT_EQ(reported.curves[0].size(), 10U);
  reported.past.want(0, true);
  set(20, 22);
  EXPECT_EQ(reported.curves[0].size(), 22U);
  EXPECT_EQ(reported.twice, 0);
}

TEST(CounterPast, WhatWasLostIsReportedAgain) {
  Reported reported;
  for (std::int64_t step = 0; step < 6; ++step) reported.past.set(0, step, 1.0);
  reported.want(0);
  ASSERT_TRUE(reported.rank_update());
  for (std::int64_t step = 6; step < 12; ++step) {
    reported.past.set(0, step, 2.0);
    (void)reported.rank_update();
  }
  std::erase_if(reported.curves[0], [](const auto& sample) {
    return sample.first >= 4;
  });  // rank 0 had no space for it
  reported.past.name_again();
  reported.past.report_again(4);
  EXPECT_FALSE(reported.rank_update()) << "before its name";
  EXPECT_THAT(reported.past.unknown(), ElementsAre(0));
  reported.want(0);
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[0].size(), 12U);
  EXPECT_EQ(reported.twice, 0) << "what came before is not told again";
}

TEST(CounterPast, WhatIsSetWhileARankUpdateIsUnderWayIsNotLost) {
  Reported reported;
  reported.past.set(0, 0, 0.0);
  reported.want(0);
  for (std::int64_t step = 0; step < 40; ++step) {
    reported.past.set(0, step, static_cast<double>(step));
    if (step % 5 == 3) (void)reported.rank_update();
  }
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[0].size(), 40U);
  EXPECT_LE(reported.twice, 1);
}

TEST(CounterPast, WhatIsSetOnceMoreInItsStepIsReportedToTheNextWhoLooks) {
  Reported reported;
  reported.past.set(0, -1, 1.0);
  reported.want(0);
  while (reported.rank_update()) {
  }
  reported.past.want(0, false);
  reported.past.set(0, -1, 2.0);
  reported.past.want(0, true);
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[0].at(-1), 2.0);
}

TEST(CounterPast, TakesNoMoreMemoryThanItKeeps) {
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  auto past = std::make_unique<CounterPast>();
  for (std::int64_t step = 0; step < 2048; ++step) {
    for (CounterId id = 0; id <= step * 4; id += 16) past->set(id, step, 1.0);
  }
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd - before,
            3 * CounterPast::kMaxOfAllRanks * 16 / 2)
      << "of 8 MiB";
}

TEST(CounterPast, WhatHasNoSpaceIsInTheNextRankUpdate) {
  Reported reported;
  for (std::int64_t step = 0; step < 20; ++step) reported.past.set(0, step, 1.0);
  reported.want(0);
  int rank_updates = 0;
  while (reported.rank_update(200)) ++rank_updates;
  EXPECT_GT(rank_updates, 3);
  EXPECT_EQ(reported.curves[0].size(), 20U);
}

TEST(CounterPast, AValueThatIsSetAgainInItsStepIsTheLastOne) {
  Reported reported;
  reported.past.set(0, 1, 1.0);
  reported.past.set(0, 1, 2.0);
  reported.past.set(0, 0, 9.0);  // back in time: a second pass
  reported.want(0);
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[0].at(0), 9.0) << "the newest";
  reported.past.set(0, 2, 3.0);
  while (reported.rank_update()) {
  }
  EXPECT_EQ(reported.curves[0].at(2), 3.0);
}

TEST(CounterSlots, GiveTheLastValueOfEach) {
  CounterSlots slots;
  EXPECT_EQ(slots.end(), 0U);
  slots.set(7, -1, 1.5);
  slots.set(7, 4, 2.5);
  slots.set(CounterSlots::kMax, 4, 2.5);
  EXPECT_EQ(slots.end(), 8U);
  const auto reading = slots.take(7);
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->step, 4);
  EXPECT_EQ(reading->value, 2.5);
  EXPECT_FALSE(slots.take(7).has_value());
  EXPECT_FALSE(slots.take(6).has_value());
  slots.set(7, 5, 2.5);
  EXPECT_EQ(slots.take(7)->step, 5) << "the same value in a later step is news";
  slots.set(7, 5, std::nan(""));
  EXPECT_TRUE(slots.take(7).has_value());
  EXPECT_FALSE(slots.take(7).has_value()) << "NaN is like itself";
}

TEST(CounterSlots, AreSetByAllThreads) {
  CounterSlots slots;
  std::vector<std::jthread> threads;
  for (CounterId id = 0; id < 4; ++id) {
    threads.emplace_back([&slots, id] {
      for (std::int64_t step = 0; step < 20'000; ++step)
        slots.set(id, step, static_cast<double>(step));
    });
  }
  std::array<std::int64_t, 4> last{-1, -1, -1, -1};
  for (int round = 0; round < 10'000; ++round) {
    for (CounterId id = 0; id < slots.end(); ++id) {
      const auto reading = slots.take(id);
      if (!reading) continue;
      EXPECT_GE(reading->step, last[id]);
      EXPECT_LE(reading->value, static_cast<double>(reading->step)) << "no value of a later step";
      last[id] = reading->step;
    }
  }
  threads.clear();
  for (CounterId id = 0; id < 4; ++id) {
    const auto reading = slots.take(id);
    EXPECT_EQ(reading ? reading->step : last[id], 19'999);
    if (reading) {
      EXPECT_EQ(reading->value, 19'999.0);
    }
  }
}

}  // namespace
}  // namespace megascope::capture
