#include "plugin/tensors/counter_past.h"

#include "plugin/tensors/counter_slots.h"

#include <gmock/gmock.h>

#include <cmath>
#include <malloc.h>
#include <map>
#include <memory>
#include <thread>

namespace megascope::tensors {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Curve = std::map<std::int64_t, double>;

/// A rank's counters, and what rank 0 has of them.
struct Told {
  CounterPast past;
  std::map<CounterId, Curve> curves;
  std::size_t max_values = 0;  ///< of a letter
  int twice = 0;

  void want(CounterId counter) {
    past.want(counter, true);
    past.name(counter);
  }
  /// False: it had nothing.
  bool rank_update(std::size_t room = kMaxRankUpdateBytes) {
    RankUpdateWriter writer(room);
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

TEST(CounterPast, TellsWhatWasBeforeAnybodyLooked) {
  Told told;
  for (std::int64_t step = 0; step < 10; ++step)
    told.past.set(3, step, static_cast<double>(step) * 2);
  EXPECT_FALSE(told.rank_update()) << "nobody looks";
  told.want(3);
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[3].size(), 10U);
  EXPECT_EQ(told.curves[3].at(7), 14.0);
  told.past.set(3, 10, 5.0);
  EXPECT_TRUE(told.rank_update());
  EXPECT_EQ(told.curves[3].at(10), 5.0);
  EXPECT_FALSE(told.rank_update());
  EXPECT_EQ(told.twice, 0);
}

TEST(CounterPast, NewValuesComeBesideTheOldOnesAndEachOnce) {
  Told told;
  constexpr int kCounters = 100;
  const auto set_all = [&](std::int64_t step) {
    for (CounterId id = 0; id < kCounters; ++id)
      told.past.set(id, step, static_cast<double>(step) + id);
  };
  for (std::int64_t step = 0; step < 900; ++step) set_all(step);
  for (CounterId id = 0; id < kCounters; ++id) told.want(id);
  int rank_updates = 0;
  std::int64_t step = 900;
  for (; rank_updates == 0 || told.curves[0].size() < static_cast<std::size_t>(step);
       ++rank_updates, ++step) {
    set_all(step);
    ASSERT_TRUE(told.rank_update());
    EXPECT_TRUE(told.curves[99].contains(step)) << "the newest is not held up by the past";
    ASSERT_LT(rank_updates, 50);
  }
  EXPECT_GT(rank_updates, 5) << "90,000 values are not told at once";
  EXPECT_LE(told.max_values, CounterPast::kMaxInARankUpdate + kCounters);
  EXPECT_EQ(told.twice, 0);
  for (const auto& [id, curve] : told.curves)
    EXPECT_EQ(curve.size(), static_cast<std::size_t>(step)) << id;
}

TEST(CounterPast, OfLongRunsValuesAreEvenlyThinned) {
  Told told;
  for (std::int64_t step = 0; step < 100'000; ++step)
    told.past.set(0, step, std::sqrt(static_cast<double>(step)));
  told.want(0);
  while (told.rank_update()) {
  }
  const Curve& curve = told.curves[0];
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
  Told told;
  told.past.share_with(64);  // 8192 values for this rank
  for (std::int64_t step = 0; step < 2000; ++step) {
    for (CounterId id = 0; id < 100; ++id) told.past.set(id, step, 1.0);
  }
  for (CounterId id = 0; id < 100; ++id) told.want(id);
  while (told.rank_update()) {
  }
  std::size_t values = 0;
  for (const auto& [id, curve] : told.curves) values += curve.size();
  EXPECT_EQ(told.curves.size(), 100U);
  EXPECT_LE(values, CounterPast::kMaxOfAllRanks / 64 + 100);
  EXPECT_GE(values, CounterPast::kMaxOfAllRanks / 64 / 4);
}

TEST(CounterPast, WhatNobodyLookedAtInBetweenComesWhenSomebodyDoesAgain) {
  Told told;
  const auto set = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t step = begin; step < end; ++step) {
      told.past.set(0, step, static_cast<double>(step));
      (void)told.rank_update();
    }
  };
  set(0, 5);
  told.want(0);
  set(5, 10);
  told.past.want(0, false);
  set(10, 20);
  EXPECT_EQ(told.curves[0].size(), 10U);
  told.past.want(0, true);
  set(20, 22);
  EXPECT_EQ(told.curves[0].size(), 22U);
  EXPECT_EQ(told.twice, 0);
}

TEST(CounterPast, WhatWasLostIsToldAgain) {
  Told told;
  for (std::int64_t step = 0; step < 6; ++step) told.past.set(0, step, 1.0);
  told.want(0);
  ASSERT_TRUE(told.rank_update());
  for (std::int64_t step = 6; step < 12; ++step) {
    told.past.set(0, step, 2.0);
    (void)told.rank_update();
  }
  std::erase_if(told.curves[0],
                [](const auto& sample) { return sample.first >= 4; });  // rank 0 had no room for it
  told.past.name_again();
  told.past.tell_again(4);
  EXPECT_FALSE(told.rank_update()) << "before its name";
  EXPECT_THAT(told.past.unknown(), ElementsAre(0));
  told.want(0);
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[0].size(), 12U);
  EXPECT_EQ(told.twice, 0) << "what came before is not told again";
}

TEST(CounterPast, WhatIsSetWhileARankUpdateIsUnderWayIsNotLost) {
  Told told;
  told.past.set(0, 0, 0.0);
  told.want(0);
  for (std::int64_t step = 0; step < 40; ++step) {
    told.past.set(0, step, static_cast<double>(step));
    if (step % 5 == 3) (void)told.rank_update();
  }
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[0].size(), 40U);
  EXPECT_LE(told.twice, 1);
}

TEST(CounterPast, WhatIsSetOnceMoreInItsStepIsToldToTheNextWhoLooks) {
  Told told;
  told.past.set(0, -1, 1.0);
  told.want(0);
  while (told.rank_update()) {
  }
  told.past.want(0, false);
  told.past.set(0, -1, 2.0);
  told.past.want(0, true);
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[0].at(-1), 2.0);
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

TEST(CounterPast, WhatHasNoRoomIsInTheNextRankUpdate) {
  Told told;
  for (std::int64_t step = 0; step < 20; ++step) told.past.set(0, step, 1.0);
  told.want(0);
  int rank_updates = 0;
  while (told.rank_update(200)) ++rank_updates;
  EXPECT_GT(rank_updates, 3);
  EXPECT_EQ(told.curves[0].size(), 20U);
}

TEST(CounterPast, AValueThatIsSetAgainInItsStepIsTheLastOne) {
  Told told;
  told.past.set(0, 1, 1.0);
  told.past.set(0, 1, 2.0);
  told.past.set(0, 0, 9.0);  // back in time: a second pass
  told.want(0);
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[0].at(0), 9.0) << "the newest";
  told.past.set(0, 2, 3.0);
  while (told.rank_update()) {
  }
  EXPECT_EQ(told.curves[0].at(2), 3.0);
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
}  // namespace megascope::tensors
