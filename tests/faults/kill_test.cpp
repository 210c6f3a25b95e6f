#include "core/trace/reader.h"
#include "tests/faults/trial.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <signal.h>
#include <unistd.h>

namespace megascope::faults {
namespace {

const Row kPendingReceive{.function = "MPI_Recv", .tag = -1, .depth = 0, .is_pending = true};

/// Waits until the victim has opened its book and written `count` calls.
bool wait_for_ledger(Child& child, const Trial& trial, std::uint64_t count, int rank = 0) {
  const Ledger* ledger = nullptr;
  for (int tick = 0; tick < 20'000 && !child.has_ended(); ++tick) {
    if (ledger == nullptr) ledger = trial.ledger(rank);
    if (ledger != nullptr && ledger->count.load() >= count) return true;
    usleep(500);
  }
  return false;
}

/// 24 single processes, each killed at another moment after its first calls.
void kill_at_random_moments(unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 25; ++i) {
    const Trial trial("until-killed");
    Child child(trial.preloaded());
    ASSERT_TRUE(wait_for_ledger(child, trial, 1)) << child.wait(1).err;
    usleep(std::uniform_int_distribution<unsigned>(0, 40'000)(random));
    child.send(SIGKILL);
    EXPECT_EQ(child.wait().signal, SIGKILL);
    const Read read = trial.recovered();
    ASSERT_EQ(read.locations.size(), 1u);
    expect_ledger(read.locations[0], *trial.ledger());
    EXPECT_EQ(read.loss_count(), 0u);
    EXPECT_EQ(read.definitions.info.end_state, EndState::kRecovered);
    if (testing::Test::HasFailure()) FAIL() << "kill " << i << " of seed " << seed;
  }
}

TEST(Kill, LeavesEveryReturnedCallOfASingleProcess1) { kill_at_random_moments(1); }
TEST(Kill, LeavesEveryReturnedCallOfASingleProcess2) { kill_at_random_moments(2); }
TEST(Kill, LeavesEveryReturnedCallOfASingleProcess3) { kill_at_random_moments(3); }
TEST(Kill, LeavesEveryReturnedCallOfASingleProcess4) { kill_at_random_moments(4); }

/// One rank of two is killed; the launcher then ends the other one in its own way.
TEST(Kill, LeavesEveryReturnedCallOfBothRanks) {
  std::mt19937 random(5);
  for (int i = 0; i < 5; ++i) {
    Trial trial("in-company");
    trial.ranks(2);
    Child launcher(trial.preloaded());
    ASSERT_TRUE(wait_for_ledger(launcher, trial, 3, 0) && wait_for_ledger(launcher, trial, 3, 1));
    usleep(std::uniform_int_distribution<unsigned>(0, 60'000)(random));
    // The victim's number is in its trace's header.
    const std::string home = trial.scratch() + "/megascope-" + std::to_string(getuid());
    std::string file_path;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home)) {
      if (entry.path().filename() == "rank-1.mgt") file_path = entry.path().string();
    }
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(file_path, file).is_ok()) << file_path;
    kill(static_cast<pid_t>(file->definitions().info.pid), SIGKILL);
    const Ending ending = launcher.wait();
    EXPECT_FALSE(ending.has_timed_out);
    EXPECT_NE(ending.exit_code, 0);
    for (int rank = 0; rank < 2; ++rank) {
      const Read read = trial.recovered(rank);
      ASSERT_EQ(read.locations.size(), 1u);
      expect_ledger(read.locations[0], *trial.ledger(rank));
    }
  }
}

TEST(Kill, ShowsWhatTheProcessWasWaitingIn) {
  const Trial trial("receive-forever");
  Child child(trial.preloaded());
  for (int tick = 0;
       tick < 10'000 && (trial.ledger() == nullptr || trial.ledger()->is_waiting.load() == 0);
       ++tick)
    usleep(500);
  usleep(50'000);
  child.send(SIGKILL);
  child.wait();
  const Read read = trial.recovered();
  ASSERT_EQ(read.locations.size(), 1u);
  expect_ledger(read.locations[0], *trial.ledger());
  EXPECT_EQ(read.locations[0].back(), kPendingReceive);

  std::unique_ptr<trace::TraceFile> file;
  ASSERT_TRUE(trace::TraceFile::open(trial.run_directory() + "/rank-0.mgt", file).is_ok());
  Call call;
  std::vector<Fact> facts;
  ASSERT_TRUE(file->pending_call(0, call, facts));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].tag, 77);
}

TEST(Kill, BeforeTheTraceIsMadeLeavesNothingHalfMade) {
  for (unsigned wait_us = 0; wait_us < 40'000; wait_us += 4000) {
    const Trial trial("until-killed");
    Child child(trial.preloaded());
    usleep(wait_us);
    child.send(SIGKILL);
    child.wait();
    trace::RecoverResult result;
    const Status status = trace::recover_run(trial.run_directory(), result);
    if (trial.ledger() == nullptr || trial.ledger()->count.load() == 0)
      continue;  // any honest answer will do
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
}

}  // namespace
}  // namespace megascope::faults
