#include "tests/faults/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/// Kills while a trace goes from one file system to another: by MPI_Finalize, and by `megascope
/// recover`.
namespace megascope::faults {
namespace {

namespace fs = std::filesystem;

/// A directory on another file system than test::TemporaryDirectory. Removed with what is in it.
class OtherFileSystem {
 public:
  OtherFileSystem() {
    char name[] = "/dev/shm/kill-copy-XXXXXX";
    const char* const made = mkdtemp(name);
    path_ = made != nullptr ? made : "";
    struct stat here {};
    struct stat there {};
    is_usable_ = made != nullptr && stat(fs::temp_directory_path().c_str(), &here) == 0 &&
                 stat(made, &there) == 0 && here.st_dev != there.st_dev;
  }
  ~OtherFileSystem() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  OtherFileSystem(const OtherFileSystem&) = delete;
  OtherFileSystem& operator=(const OtherFileSystem&) = delete;

  bool is_usable() const { return is_usable_; }
  std::string run_directory() const { return path_ + "/run"; }

 private:
  std::string path_;
  bool is_usable_ = false;
};

int kill_count() {
  const char* const wanted = std::getenv("MEGASCOPE_TEST_KILLS");
  return wanted != nullptr ? std::max(1, std::atoi(wanted)) : 12;
}

/// Of a trace: a report that was being written is not looked at.
bool has_part(const std::string& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const bool is_of_trace = entry.path().filename().string().starts_with("rank-");
    if (is_of_trace && entry.path().extension() == ".part") return true;
  }
  return false;
}

Command recovery(const Trial& trial) {
  return {.arguments = {MEGASCOPE_TEST_COMMAND, "recover", trial.run_directory()},
          .environment = {},
          .directory = trial.directory().path(),
          .before_exec = {}};
}

/// The program notes MPI_Finalize before it calls it: alone of all calls it may be in the book and
/// not have been entered.
void forget_a_finalize_that_was_not_entered(const Trial& trial, const std::vector<Row>& rows) {
  Ledger* const ledger = Ledger::open((trial.directory() / "book.0").c_str());
  const std::uint64_t count = ledger->count.load();
  const bool is_noted = count > 0 && ledger->entries[count - 1].fn == Ledger::kFinalize;
  const bool is_recorded = !rows.empty() && rows.back().function == "MPI_Finalize";
  if (is_noted && !is_recorded) ledger->count.store(count - 1);
}

struct Counts {
  int programs = 0;    ///< killed before they ended
  int recoveries = 0;  ///< killed before they ended
  int parts = 0;       ///< left by a kill
};

/// One program, killed at a random moment, often while it copies; then recoveries, killed too; then
/// one that is not.
void kill_one(std::mt19937& random, Counts& counts) {
  const OtherFileSystem other;
  Trial trial("finish", /*count=*/120'000);
  trial.runs_into(other.run_directory());
  Child program(trial.preloaded());
  const std::string target = trial.run_directory() + "/rank-0.mgt";
  const bool is_early = random() % 4 == 0;
  const Ledger* ledger = nullptr;  // each look at trial.book() maps it anew
  const auto is_due = [&] {
    if (ledger == nullptr) ledger = trial.ledger();
    return ledger != nullptr && (is_early || ledger->count.load() > 720'000);
  };
  for (int tick = 0; tick < 60'000 && !is_due() && !program.has_ended(); ++tick) usleep(200);
  usleep(std::uniform_int_distribution<unsigned>(0, is_early ? 100'000 : 40'000)(random));
  program.send(SIGKILL);
  if (program.wait().signal == SIGKILL) ++counts.programs;
  counts.parts += has_part(trial.run_directory()) ? 1 : 0;
  for (int i = 0; i < 3; ++i) {
    Child command(recovery(trial));
    usleep(std::uniform_int_distribution<unsigned>(0, 40'000)(random));
    command.send(SIGKILL);
    if (command.wait().signal == SIGKILL) ++counts.recoveries;
    counts.parts += has_part(trial.run_directory()) ? 1 : 0;
  }
  const Ending last = run(recovery(trial));
  EXPECT_EQ(last.exit_code, 0) << last.err;
  const Read read = trial.trace();
  ASSERT_EQ(read.locations.size(), 1u);
  ASSERT_NE(ledger, nullptr);
  forget_a_finalize_that_was_not_entered(trial, read.locations[0]);
  expect_ledger(read.locations[0], *ledger);
  EXPECT_FALSE(has_part(trial.run_directory()));
  std::error_code error;
  EXPECT_TRUE(fs::is_empty(trial.scratch() + "/megascope-" + std::to_string(geteuid()), error))
      << "nothing is left in scratch";
  struct stat info {};
  ASSERT_EQ(stat(target.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST(KillWhileCopying, LosesNoReturnedCall) {
  if (!OtherFileSystem().is_usable())
    GTEST_SKIP() << fs::temp_directory_path() << " and /dev/shm are one file system";
  const char* const wanted_seed = std::getenv("MEGASCOPE_TEST_SEED");
  std::mt19937 random(wanted_seed != nullptr ? static_cast<unsigned>(std::atoi(wanted_seed)) : 18);
  Counts counts;
  for (int i = 0; i < kill_count(); ++i) {
    kill_one(random, counts);
    if (testing::Test::HasFailure()) FAIL() << "kill " << i;
  }
  std::printf("%d programs and %d recoveries killed, %d parts left by them\n", counts.programs,
              counts.recoveries, counts.parts);
  EXPECT_GT(counts.programs + counts.recoveries, 0);
}

}  // namespace
}  // namespace megascope::faults
