#include "core/buffer/recorder.h"
#include "tests/core/recorder_fixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

/// What is kept, dropped and counted when the bound of the buffer is reached.
namespace megascope {
namespace {

using FullBufferTest = RecorderTest;

TEST_F(FullBufferTest, UsesNearlyAllOfItsBytes) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 600'000); });
  (void)recorder.finish(EndState::kFinalized);
  constexpr std::size_t kRestBytes = 16 << 10;
  EXPECT_GT(std::filesystem::file_size(directory_ / "rank-0.mgt"),
            (std::size_t{1} << 20) - kRestBytes);
  EXPECT_LE(std::filesystem::file_size(directory_ / "rank-0.mgt"), std::size_t{1} << 20);
  EXPECT_GT(numbers().at(0).size(), 120'000u) << "twice as many as unpacked";
}

TEST_F(FullBufferTest, TellsOnceHowLongTheRestLastsWhenATenthIsUsed) {
  for (const BufferPolicy policy : {BufferPolicy::kStop, BufferPolicy::kFlight}) {
    std::vector<BufferUse> told;
    const std::uint64_t bound_bytes = std::uint64_t{8} << 20;
    Recorder& recorder = make(bound_bytes, policy, [&](const BufferUse& use) {
      told.push_back(use);
      return true;
    });
    on_a_thread([&] { record(recorder, 0, 10'000); });
    EXPECT_TRUE(told.empty()) << "of some 60 kB";
    on_a_thread([&] { record(recorder, 0, 1'500'000); });
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].limit_bytes, bound_bytes);
    EXPECT_GE(told[0].used_bytes, bound_bytes / 10);
    EXPECT_LT(told[0].used_bytes, bound_bytes / 5);
    EXPECT_GT(told[0].recorded_bytes, 0u);
    EXPECT_GT(told[0].elapsed_ns, 0u);
    (void)recorder.finish(EndState::kFinalized);
    std::filesystem::remove(directory_ / "rank-0.mgt");
  }
}

TEST_F(FullBufferTest, AsksAgainUntilItIsToldOrNothingIsLeft) {
  int asked = 0;
  Recorder& recorder = make(std::uint64_t{2} << 20, BufferPolicy::kStop, [&](const BufferUse& use) {
    EXPECT_GT(use.rest_ns(), 0u);
    return ++asked == 3;
  });
  on_a_thread([&] { record(recorder, 0, 600'000); });
  EXPECT_EQ(asked, 3);
}

/// What is told is compared in calls, so that it does not depend on how fast they are made.
TEST_F(FullBufferTest, TheRestLastsAboutAsLongAsIsTold) {
  for (const int thread_count : {1, 8}) {
    std::atomic<std::uint64_t> calls{0};
    double told = 0;  // rest in relation to the time so far
    double called = 0;
    Recorder& recorder = make(
        std::uint64_t{4} << 20, BufferPolicy::kStop, [&](const BufferUse& use) {
          told = static_cast<double>(use.rest_ns()) / static_cast<double>(use.elapsed_ns);
          called = static_cast<double>(calls.load());
          return true;
        });
    const auto is_full = [&] {
      return recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] != 0;
    };
    std::barrier<> turn(thread_count);
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> full_after{0};
    for (int i = 0; i < thread_count; ++i) {
      threads.emplace_back([&] {
        for (std::uint32_t round = 0; round < 4000; ++round) {
          if (!is_full()) {
            record(recorder, round * 500, 500);
            calls += 500;
          } else if (full_after == 0) {
            full_after = calls.load();
          }
          turn.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    (void)recorder.finish(EndState::kFinalized);
    ASSERT_GT(full_after.load(), 0u);
    ASSERT_GT(told, 0);
    const double lasted = (static_cast<double>(full_after.load()) - called) / called;
    EXPECT_GT(told, lasted / 3) << thread_count << " threads";
    EXPECT_LT(told, lasted * 3) << thread_count << " threads";
    std::filesystem::remove(directory_ / "rank-0.mgt");
  }
}

TEST(BufferUse, RestIsOfTheRateSoFar) {
  const auto rest = [](std::uint64_t used, std::uint64_t recorded) {
    return BufferUse{
        .used_bytes = used, .limit_bytes = 1000, .recorded_bytes = recorded, .elapsed_ns = 50}
        .rest_ns();
  };
  EXPECT_EQ(rest(100, 100), 450u);
  EXPECT_EQ(rest(100, 10), 4500u);
  EXPECT_EQ(rest(100, 0), 0u);
  EXPECT_EQ(rest(1000, 100), 0u);
  EXPECT_EQ(rest(1001, 100), 0u) << "definitions may exceed the bound";
}

TEST_F(FullBufferTest, ATenthThatIsUsedIsToldThoughMemoryForTheTextRunsOut) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop,
                            [](const BufferUse&) -> bool { throw std::bad_alloc(); });
  on_a_thread([&] { record(recorder, 0, 100'000); });
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kNoBuffer)], 1u)
      << "counted, and nothing else happens";
  (void)recorder.finish(EndState::kFinalized);
  EXPECT_GT(numbers().at(0).size(), 99'000u);
}

TEST_F(FullBufferTest, StopKeepsTheOldestAndCountsTheRest) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 600'000); });
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok())
      << "the limit is the user's choice, no error";
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].front(), 0u);
  expect_consecutive(found[0]);
  const Losses losses = recorder.losses();
  EXPECT_EQ(losses[static_cast<std::size_t>(LossCause::kBufferFull)] + found[0].size(), 600'000u);
  EXPECT_GT(found[0].size(), 120'000u);
}

TEST_F(FullBufferTest, FlightKeepsTheNewestAndSumsTheRest) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kFlight);
  on_a_thread([&] { record(recorder, 0, 700'000); });
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].back(), 699'999u & 0x7FFF);
  expect_consecutive(found[0]);
  EXPECT_GT(found[0].size(), 100'000u);
  EXPECT_LE(std::filesystem::file_size(directory_ / "rank-0.mgt"), std::size_t{1} << 20);
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] + found[0].size(),
            700'000u);
}

/// The oldest chunks of the process are dropped, whichever thread they are of: a thread that waits
/// does not keep what all others lose.
TEST_F(FullBufferTest, FlightDropsTheOldestOfAllThreads) {
  Recorder& recorder = make(std::uint64_t{4} << 20, BufferPolicy::kFlight);
  constexpr std::uint32_t kEach = 200'000;
  constexpr std::uint32_t kRounds = 6;
  std::barrier<> turn(2);
  const auto work = [&](bool is_first) {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      if (is_first) record(recorder, round * kEach, kEach);
      turn.arrive_and_wait();
      if (!is_first) record(recorder, round * kEach, kEach);
      turn.arrive_and_wait();
    }
  };
  std::thread first(work, true);
  std::thread second(work, false);
  first.join();
  second.join();
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  const auto found = numbers();
  ASSERT_EQ(found.size(), 2u);
  std::size_t kept = 0;
  for (const auto& of_thread : found) {
    expect_consecutive(of_thread);
    ASSERT_FALSE(of_thread.empty());
    EXPECT_EQ(of_thread.back(), (kRounds * kEach - 1) & 0x7FFF);
    EXPECT_GT(of_thread.size(), kEach / 2) << "half of its last round at least";
    kept += of_thread.size();
  }
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] + kept,
            2 * kRounds * kEach);
  EXPECT_LE(std::filesystem::file_size(directory_ / "rank-0.mgt"), std::size_t{4} << 20);
}

/// A call's facts may be in the next chunk. It is lost with the chunk that it begins in, not with
/// the one in which it ends.
TEST_F(FullBufferTest, ACallIsLostWithItsBeginOnly) {
  for (const BufferPolicy policy : {BufferPolicy::kStop, BufferPolicy::kFlight}) {
    std::filesystem::remove(directory_ / "rank-0.mgt");
    Recorder& recorder = make(std::uint64_t{1} << 20, policy);
    constexpr std::uint32_t kCalls = 60'000;
    on_a_thread([&] {
      EventBuffer* buffer = recorder.buffer_of_this_thread();
      for (std::uint32_t i = 0; i < kCalls; ++i) {
        if (!buffer->ensure(encoding::kBareWords)) continue;
        encoding::Word* to = buffer->cursor();
        to[0] = encoding::entry_word(recorder.ticks(), buffer->base_ticks(), 3);
        to[1] = encoding::Word{encoding::kHasFacts} << 56;
        buffer->commit(to + encoding::kBareWords);
        for (std::uint64_t value = 0; value < 3; ++value) {
          if (!buffer->ensure(encoding::kWideWords)) continue;
          const Fact fact{.kind = FactKind::kValue,
                          .tag = 1,
                          .bytes = (i * 3 + value) * 0x9E3779B97F4A7C15,
                          .bytes_received = i};
          buffer->commit(buffer->cursor() + encoding::encode_fact(fact, buffer->cursor()));
        }
      }
    });
    EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
    const std::uint64_t lost = recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)];
    EXPECT_GT(lost, 10'000u);
    EXPECT_EQ(lost + numbers().at(0).size(), kCalls) << static_cast<int>(policy);
  }
}

TEST_F(FullBufferTest, AFullBufferAtAThreadsEndIsNoTrouble) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 600'000); });
  on_a_thread([&] { record(recorder, 0, 600'000); });
  (void)recorder.finish(EndState::kFinalized);
  std::size_t kept = 0;
  for (const auto& of_location : numbers()) kept += of_location.size();
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] + kept, 1'200'000u);
}

/// Definitions have 64 MiB beyond the limit.
TEST_F(FullBufferTest, DefinitionsWithoutSpaceAreCounted) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  const std::string name(1000, 'n');
  constexpr TensorId kNames = 80'000;
  for (TensorId id = 0; id < kNames; ++id) EXPECT_TRUE(recorder.define_tensor(id, name));
  (void)recorder.finish(EndState::kFinalized);
  const std::uint64_t lost = recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)];
  EXPECT_GT(lost, 5'000u);
  EXPECT_LT(lost, kNames / 2);
}

}  // namespace
}  // namespace megascope
