#include "core/buffer/recorder.h"
#include "tests/core/recorder_fixture.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

/// Policy flight keeps the newest records: of threads that end and start, and on systems that
/// refuse space or descriptors.
namespace megascope {
namespace {

/// Lowers a limit of the process for a scope.
class ScopedLimit {
 public:
  ScopedLimit(decltype(RLIMIT_NOFILE) what, rlim_t most) : what_(what) {
    getrlimit(what, &before_);
    const rlimit lower{most, before_.rlim_max};
    setrlimit(what, &lower);
  }
  ~ScopedLimit() { setrlimit(what_, &before_); }

 private:
  decltype(RLIMIT_NOFILE) what_;
  rlimit before_{};
};

class FlightTest : public RecorderTest {
 protected:
  static std::uint64_t lost(const Recorder& recorder) {
    const Losses losses = recorder.losses();
    return std::accumulate(losses.begin(), losses.end(), std::uint64_t{0});
  }
  static std::uint64_t lost(const Recorder& recorder, LossCause cause) {
    return recorder.losses()[static_cast<std::size_t>(cause)];
  }
  static std::uint64_t size_of(const std::vector<std::vector<std::uint32_t>>& found) {
    std::uint64_t size = 0;
    for (const auto& of_thread : found) size += of_thread.size();
    return size;
  }
};

TEST_F(FlightTest, ChunksOfEndedThreadsAreDroppedForNewerOnes) {
  for (const auto backing : {trace::Backing::kMapped, trace::Backing::kWritten}) {
    backing_ = backing;
    Recorder& recorder = make(std::uint64_t{4} << 20, BufferPolicy::kFlight);
    constexpr std::uint32_t kCalls = 3000;
    constexpr std::uint32_t kMainCalls = 400'000;
    constexpr int kRounds = 50;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back([&] { record(recorder, 0, kCalls); });
      for (std::thread& thread : threads) thread.join();
    }
    const std::uint64_t lost_before = lost(recorder);
    EXPECT_LT(lost_before, kRounds * 4 * kCalls) << "the newest threads are in the trace";
    on_a_thread([&] { record(recorder, 0, kMainCalls); });
    EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
    const auto found = numbers();
    ASSERT_EQ(found.size(), kRounds * 4 + 1u);
    EXPECT_EQ(found.back().back(), (kMainCalls - 1) & 0x7FFF);
    expect_consecutive(found.back());
    EXPECT_GT(found.back().size(), kMainCalls / 2);
    EXPECT_EQ(lost(recorder) + size_of(found), kRounds * 4 * kCalls + kMainCalls);
    EXPECT_LE(std::filesystem::file_size(directory_ / "rank-0.mgt"), std::size_t{4} << 20);
    std::filesystem::remove(directory_ / "rank-0.mgt");
  }
}

TEST_F(FlightTest, AThreadThatStartsWhenTheBufferIsFullIsRecorded) {
  Recorder& recorder = make(std::uint64_t{2} << 20, BufferPolicy::kFlight);
  constexpr std::uint32_t kFirst = 900'000;
  std::thread first([&] {
    record(recorder, 0, kFirst);
    EXPECT_GT(lost(recorder), 0u);
    for (std::uint32_t i = 0; i < 20; ++i) on_a_thread([&] { record(recorder, 0, 3000); });
  });
  first.join();
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  const auto found = numbers();
  ASSERT_EQ(found.size(), 21u);
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i].size(), 3000u) << i;
  EXPECT_EQ(found[0].back(), (kFirst - 1) & 0x7FFF);
  EXPECT_EQ(lost(recorder) + size_of(found), kFirst + 20 * 3000u);
}

/// As with `ulimit -f`.
TEST_F(FlightTest, AFileSizeLimitKeepsTheNewest) {
  constexpr std::uint32_t kCalls = 1'500'000;
  for (const auto backing : {trace::Backing::kMapped, trace::Backing::kWritten}) {
    backing_ = backing;
    Recorder& recorder = make(std::uint64_t{1} << 30, BufferPolicy::kFlight);
    {
      const ScopedLimit limit(RLIMIT_FSIZE, rlim_t{3000} << 10);
      on_a_thread([&] { record(recorder, 0, kCalls); });
    }
    const Status status = recorder.finish(EndState::kFinalized);
    EXPECT_NE(status.message().find("file-size limit"), std::string::npos) << status.message();
    EXPECT_FALSE(recorder.has_stopped());
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].back(), (kCalls - 1) & 0x7FFF);
    expect_consecutive(found[0]);
    EXPECT_GT(found[0].size(), 100'000u);
    EXPECT_EQ(lost(recorder, LossCause::kStorage) + found[0].size(), kCalls);
    std::filesystem::remove(directory_ / "rank-0.mgt");
  }
}

/// Chunks that are full while the program holds all descriptors are lost; nothing else is.
TEST_F(FlightTest, DescriptorsThatAreUsedUpForAWhileCostTheChunksOfThatTime) {
  for (const std::uint64_t mebibytes : {64U, 1U}) {  // grows, or drops the oldest
    Recorder& recorder = make(mebibytes << 20, BufferPolicy::kFlight);
    constexpr std::uint32_t kBefore = 300'000;
    constexpr std::uint32_t kDuring = 100'000;
    constexpr std::uint32_t kAfter = 60'000;
    on_a_thread([&] {
      record(recorder, 0, kBefore);
      {
        const ScopedLimit limit(RLIMIT_NOFILE, 0);
        record(recorder, 0, kDuring);
      }
      record(recorder, 0, kAfter);
    });
    const Status status = recorder.finish(EndState::kFinalized);
    EXPECT_NE(status.message().find("Too many open files"), std::string::npos);
    EXPECT_FALSE(recorder.has_stopped());
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].back(), (kAfter - 1) & 0x7FFF);
    EXPECT_GT(found[0].size(), mebibytes == 1 ? kAfter : kBefore + kAfter);
    EXPECT_GT(lost(recorder, LossCause::kNoBuffer), kDuring / 2);
    EXPECT_LT(lost(recorder, LossCause::kNoBuffer), kDuring + 20'000);
    EXPECT_EQ(lost(recorder, LossCause::kStorage), 0u);
    EXPECT_EQ(lost(recorder) + found[0].size(), kBefore + kDuring + kAfter);
    std::filesystem::remove(directory_ / "rank-0.mgt");
  }
}

TEST_F(FlightTest, AThreadThatStartsWithoutADescriptorIsRecordedLater) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kFlight);
  on_a_thread([&] {
    {
      const ScopedLimit limit(RLIMIT_NOFILE, 0);
      record(recorder, 0, 1000);
    }
    record(recorder, 1000, 20'000);
  });
  (void)recorder.finish(EndState::kFinalized);
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].size(), 15'000u);
  EXPECT_EQ(found[0].back(), 20'999u);
  expect_consecutive(found[0]);
  EXPECT_EQ(lost(recorder, LossCause::kNoBuffer) + found[0].size(), 21'000u);
}

}  // namespace
}  // namespace megascope
