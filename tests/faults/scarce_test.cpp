#include "tests/faults/launch.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

/// Allocations of the library that fail: in every family of MPI functions and every hook the first,
/// the second ... of them, alone and with all later ones. The program copes without memory, and so
/// must the library: no call ends it.
namespace megascope::faults {
namespace {

using test::TemporaryDirectory;

const std::vector<std::string> kPlain = {"MEGASCOPE_REPORT=off"};
/// All that the library does in calls and hooks.
const std::vector<std::string> kFull = {"MEGASCOPE_REPORT=off",     "MEGASCOPE_MPI=all",
                                        "MEGASCOPE_CALLSITE=1",     "MEGASCOPE_TRACE=full",
                                        "MEGASCOPE_TENSORS=*",      "MEGASCOPE_CONTROL=on",
                                        "MEGASCOPE_LIVE=0",         "MEGASCOPE_LIVE_CONTROL=allow",
                                        "MEGASCOPE_STEP_INTERVAL=2"};

/// What one process came through.
struct Result {
  long number = 0;           ///< that it printed
  std::int64_t counted = 0;  ///< losses for want of memory
};

class Scarce {
 public:
  explicit Scarce(std::vector<std::string> environment) : environment_(std::move(environment)) {}

  Result expect_survival(const std::string& part, const std::string& mode, long number = 0) const {
    const TemporaryDirectory directory;
    Command command{
        .arguments = {MEGASCOPE_TEST_SCARCE, part, mode, directory.path(), std::to_string(number)},
        .environment = launch_environment(0),
        .directory = directory.path(),
        .before_exec = {}};
    if (!is_mpich()) command.environment.push_back("OMPI_MCA_orte_tmpdir_base=" + directory.path());
    command.environment.insert(command.environment.end(), environment_.begin(), environment_.end());
    command.environment.insert(
        command.environment.end(),
        {"LD_PRELOAD=" MEGASCOPE_TEST_SCARCE_MEMORY ":" MEGASCOPE_TEST_LIBRARY,
         "MEGASCOPE_EXPORT=none",
         "MEGASCOPE_OUT=" + (directory / (part == "end" ? "stdout.txt/run" : "run"))});
    Child child(std::move(command));
    const Ending ending = child.wait(60);
    const std::string what = part + ", " + mode + ", allocation " + std::to_string(number);
    EXPECT_FALSE(ending.has_timed_out) << what << "\n" << ending.err;
    EXPECT_EQ(ending.signal, 0) << what << "\n" << ending.err;
    EXPECT_EQ(ending.exit_code, 0) << what << "\n" << ending.err;
    Result result;
    std::istringstream(ending.out) >> result.number;
    const nlohmann::json report = nlohmann::json::parse(read_text(directory / "run/report.json"),
                                                        nullptr, /*allow_exceptions=*/false);
    if (report.is_object() && report.contains("losses"))
      result.counted = report["losses"].value("no_buffer", std::int64_t{0});
    return result;
  }

 private:
  std::vector<std::string> environment_;
};

std::vector<std::string> all_parts() {
  const TemporaryDirectory directory;
  const Ending ending = run({.arguments = {MEGASCOPE_TEST_SCARCE, "list"},
                             .environment = {},
                             .directory = directory.path(),
                             .before_exec = {}});
  std::vector<std::string> parts;
  std::istringstream words(ending.out);
  for (std::string part; words >> part;) parts.push_back(part);
  return parts;
}

void expect_every_part(const std::vector<std::string>& environment) {
  const Scarce scarce(environment);
  long failed = 0;
  std::int64_t counted = 0;
  for (const std::string& part : all_parts()) {
    for (const char* mode : {"one", "all"}) {
      const Result result = scarce.expect_survival(part, mode);
      EXPECT_GT(result.number, 0) << part << ": nothing failed";
      failed += result.number;
      counted += result.counted;
    }
  }
  EXPECT_GT(failed, 300);
  EXPECT_GT(counted, failed / 4) << "what is not recorded is counted";
  testing::Test::RecordProperty("allocations_failed", static_cast<int>(failed));
}

TEST(ScarceMemory, EndsNoCallAndNoHook) { expect_every_part(kPlain); }

TEST(ScarceMemory, EndsNoCallAndNoHookWithAllThatIsOffered) { expect_every_part(kFull); }

/// A process in which nothing has failed before: after a first failure ranks do not talk at steps
/// any more.
TEST(ScarceMemory, EndsNoHookOfAFreshProcess) {
  const Scarce scarce(kFull);
  const long most = scarce.expect_survival("hooks", "one", 1'000'000).number;
  EXPECT_GT(most, 100);
  for (long number = 1; number <= most; number += 17) {
    for (const char* mode : {"one", "all"}) (void)scarce.expect_survival("hooks", mode, number);
  }
}

/// One process. Its MPI_Finalize writes no files here: without memory report.json cannot be taken
/// down half made (LIMITS.md).
TEST(ScarceMemory, EndsNeitherMpiInitNorMpiFinalize) {
  const Scarce scarce(kPlain);
  for (const char* part : {"start", "end"}) {
    const long most = scarce.expect_survival(part, "one", 1'000'000).number;
    EXPECT_GT(most, 100) << part;
    for (long number = 1; number <= most; number += most / 24) {
      for (const char* mode : {"one", "all"}) (void)scarce.expect_survival(part, mode, number);
    }
  }
}

}  // namespace
}  // namespace megascope::faults
