#include "tests/faults/launch.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

/// Ranks that lack the library, and ranks that are late: no rank waits for ever, no rank decides
/// alone.
namespace megascope::faults {
namespace {

using test::TemporaryDirectory;

constexpr int kTimeoutS = 60;

/// One rank, with `preload` or without.
struct Rank {
  std::string preload;
};

std::string library() { return MEGASCOPE_TEST_LIBRARY; }

Ending run_ranks(const TemporaryDirectory& directory, const std::vector<Rank>& ranks) {
  Command command{.arguments = launcher(),
                  .environment = launch_environment(static_cast<int>(ranks.size())),
                  .directory = directory.path(),
                  .before_exec = {}};
  command.environment.insert(
      command.environment.end(),
      {"MEGASCOPE_EXPORT=none", "MEGASCOPE_OUT=" + (directory / "slow-run")});
  for (const Rank& rank : ranks) {
    std::vector<std::string>& words = command.arguments;
    if (&rank != &ranks.front()) words.emplace_back(":");
    const std::vector<std::string> part = ranks_with(1, rank.preload);
    words.insert(words.end(), part.begin(), part.end());
    words.insert(words.end(), {MEGASCOPE_TEST_RING, "20"});
  }
  Child child(command);
  return child.wait(kTimeoutS);
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

TEST(PeerPresence, WaitsForARank0ThatIsSlowToBegin) {
  const TemporaryDirectory directory;
  const auto begin = std::chrono::steady_clock::now();
  const Ending ending = run_ranks(directory,
                                  {{library() + ":" + MEGASCOPE_TEST_SLOW_MKDIR}, {library()}});
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "it was slow";
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(exists(directory / "slow-run/rank-0.mgt"));
  EXPECT_TRUE(exists(directory / "slow-run/rank-1.mgt"));
  EXPECT_EQ(occurrences(ending.err, "no common trace"), 0) << ending.err;
}

TEST(PeerPresence, WithoutTheLastRankIsNotHeld) {
  const TemporaryDirectory directory;
  const Ending ending = run_ranks(directory, {{library()}, {library()}, {{}}});
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "(missing: 2)"), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "MPI functions by time"), 1) << "one rank speaks\n"
                                                                 << ending.err;
  EXPECT_TRUE(exists(directory / "slow-run/rank-0.mgt"));
}

TEST(PeerPresence, WithoutRank0SpeaksThroughTheLowestRankThatIsHere) {
  const TemporaryDirectory directory;
  const Ending ending = run_ranks(directory, {{{}}, {library()}, {library()}});
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "(missing: 0)"), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "MPI functions by time"), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "Standalone 1 of 3 ranks"), 1) << ending.err;
  for (const char* name :
       {"slow-run/solo-1/rank-1.mgt", "slow-run/solo-2/rank-2.mgt", "slow-run/solo-2/report.txt"}) {
    EXPECT_TRUE(exists(directory / name)) << name;
  }
}

TEST(PeerPresence, AProgramStartedByARecordedOneIsOnItsOwn) {
  const TemporaryDirectory directory;
  Command command{.arguments = {MEGASCOPE_TEST_RING, "2", MEGASCOPE_TEST_RING},
                  .environment = {"LD_PRELOAD=" + library(), "MEGASCOPE_EXPORT=none"},
                  .directory = directory.path(),
                  .before_exec = {}};
  Child child(command);
  const Ending ending = child.wait(kTimeoutS);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "MPI functions by time"), 2) << ending.err;
}

}  // namespace
}  // namespace megascope::faults
