#include "tests/faults/launch.h"
#include "tests/faults/trial.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sys/stat.h>

/// The library in programs that did not ask for it, and options that are unknown.
namespace megascope::faults {
namespace {

using test::TemporaryDirectory;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Command in_directory(const TemporaryDirectory& directory, std::vector<std::string> arguments,
                     bool is_preloaded) {
  Command command{.arguments = std::move(arguments),
                  .environment = {},
                  .directory = directory.path(),
                  .before_exec = {}};
  if (is_preloaded)
    command.environment.push_back(std::string("LD_PRELOAD=") + MEGASCOPE_TEST_LIBRARY);
  return command;
}

TEST(Preloaded, IsNotSeenInProgramsWithoutMpi) {
  const std::vector<std::vector<std::string>> programs = {
      {"bash", "-c", "echo out; echo err >&2; (exit 3)"},
      {"date", "-d", "@0", "-u"},
      {"false"},
      {"bash", "-c", "kill -TERM $$"},
      {"python3", "-c", "import threading; print(6 * 7)"}};
  for (const auto& program : programs) {
    for (const char* option : {"MEGASCOPE_ENABLE=1", "MEGASCOPE_STRICT=1", "LD_BIND_NOW=1"}) {
      const TemporaryDirectory bare_directory;
      const Ending bare = run(in_directory(bare_directory, program, false));
      const TemporaryDirectory directory;
      Command command = in_directory(directory, program, true);
      command.environment.emplace_back(option);
      command.environment.emplace_back("MEGASCOPE_BUFFER_SIZE=nonsense");
      const Ending ending = run(command);
      EXPECT_EQ(ending.exit_code, bare.exit_code) << program[0];
      EXPECT_EQ(ending.signal, bare.signal);
      EXPECT_EQ(ending.out, bare.out);
      EXPECT_EQ(ending.err, bare.err);
      EXPECT_EQ(directory.names(), (std::vector<std::string>{"stderr.txt", "stdout.txt"}));
    }
  }
}

TEST(Preloaded, WorksWhenEverySymbolIsBoundAtOnce) {
  Trial trial("finish");
  trial.with("LD_BIND_NOW=1");
  EXPECT_EQ(run(trial.preloaded()).exit_code, 0);
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
}

TEST(Preloaded, SaysOnceThatItCouldNotSeeMpiStart) {
  for (const char* option : {"MEGASCOPE_ENABLE=1", "MEGASCOPE_ENABLE=0"}) {
    Trial trial("start-unseen");
    trial.with(option);
    const Ending bare = run(Trial("start-unseen").bare());
    const Ending ending = run(trial.preloaded());
    EXPECT_EQ(bare.exit_code, 6);
    EXPECT_EQ(ending.exit_code, bare.exit_code);
    EXPECT_EQ(ending.out, bare.out);
    const std::string line =
        "megascope: MPI was started by a call that cannot be seen (mpi_f08 of MPICH, PMPI_Init, a "
        "function looked up in the MPI library itself): nothing was recorded\n";
    EXPECT_EQ(ending.err, bare.err + (std::string(option) == "MEGASCOPE_ENABLE=1" ? line : ""));
  }
}

TEST(Options, EnableOffLeavesNothing) {
  Trial trial("finish");
  trial.with("MEGASCOPE_ENABLE=0");
  const Ending bare = run(Trial("finish").bare());
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, bare.out);
  EXPECT_EQ(ending.err, bare.err);
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory()));
  EXPECT_TRUE(names_in(trial.scratch()).empty());
}

TEST(Options, ABadValueAndAnUnknownNameAreReportedOnceByRankZero) {
  Trial trial("finish");
  trial.ranks(2).with("MEGASCOPE_BUFFER_SIZE=many").with("MEGASCOPE_EXPROT=otf2");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(
      occurrences(
          ending.err,
          "megascope: MEGASCOPE_BUFFER_SIZE=many: expected a size from 1 MiB to 1 TiB, or auto; "
          "the default is used: 1G\n"),
      1)
      << ending.err;
  EXPECT_EQ(occurrences(ending.err,
                        "megascope: MEGASCOPE_EXPROT is not an option and is ignored: did you mean "
                        "MEGASCOPE_EXPORT?\n"),
            1)
      << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), 2 * 602);
}

TEST(Options, CallSitesReportTheLineOfTheCall) {
  Trial trial("finish");
  trial.with("MEGASCOPE_CALLSITE=1");
  EXPECT_EQ(run(trial.preloaded()).exit_code, 0);
  const Read read = trial.trace();
  ASSERT_GE(read.definitions.call_sites.size(), 4U);
  std::set<std::string> lines;
  for (const CallSiteDefinition& site : read.definitions.call_sites) {
    ASSERT_NE(site.module.find("fault_victim"), std::string::npos) << site.module;
    char address[32];
    std::snprintf(address, sizeof address, "0x%llx",
                  static_cast<unsigned long long>(site.offset - 1));
    const Ending symbol = run({.arguments = {"addr2line", "-f", "-C", "-e", site.module, address},
                               .environment = {},
                               .directory = trial.directory().path(),
                               .before_exec = {}});
    lines.insert(symbol.out.substr(0, symbol.out.find('\n')));
  }
  EXPECT_FALSE(lines.contains("??")) << "each is in a function";
}

TEST(Options, AFunctionThatIsLeftOutIsNotRecorded) {
  Trial trial("finish");
  trial.with("MEGASCOPE_MPI=-MPI_Isend+-MPI_Rcv");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(occurrences(ending.err,
                        "megascope: MEGASCOPE_MPI: -MPI_Rcv is neither a function nor a group and "
                        "is ignored: did you mean MPI_Recv?\n"),
            1)
      << ending.err;
  const Read read = trial.trace();
  std::map<std::string, int> counts;
  for (const Row& row : read.locations.at(0)) ++counts[row.function];
  EXPECT_EQ(counts["MPI_Isend"], 0);
  EXPECT_GT(counts.size(), 2U);
  EXPECT_TRUE(read.definitions.info.has_message_gaps);
}

TEST(Options, StrictEndsTheProgramAtStart) {
  Trial trial("finish");
  trial.with("MEGASCOPE_STRICT=1").with("MEGASCOPE_CLOCK=sundial");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_EQ(ending.out, "");
  EXPECT_EQ(occurrences(ending.err, "MEGASCOPE_CLOCK=sundial"), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "MEGASCOPE_STRICT=1"), 1) << ending.err;
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory()));
}

TEST(Options, StrictEndsAllRanks) {
  Trial trial("finish");
  trial.ranks(2).with("MEGASCOPE_STRICT=1").with("MEGASCOPE_CLOCK=sundial");
  const Ending ending = run(trial.preloaded());
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_EQ(occurrences(ending.err, "MEGASCOPE_CLOCK=sundial"), 1) << ending.err;
}

TEST(RunDirectory, AnExistingOneIsLeftAlone) {
  const Trial trial("finish");
  for (const char* suffix : {"", "-2", "-3"}) {
    EXPECT_EQ(run(trial.preloaded()).exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(trial.run_directory() + suffix + "/rank-0.mgt")) << suffix;
    std::filesystem::remove(trial.directory() / "book.0");
  }
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory() + "-4"));
}

TEST(OtherTool, BehindUsIsNamedAndSeesNothing) {
  const Trial trial("finish");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_OTHER_TOOL));
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(occurrences(ending.err, "megascope: " MEGASCOPE_TEST_OTHER_TOOL
                                    " wraps MPI calls too, but comes after MegaScope and sees none "
                                    "of them; preload one of the two\n"),
            1)
      << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
}

TEST(OtherTool, InFrontOfUsIsNamedAndNothingIsRecorded) {
  const Trial trial("finish");
  const Ending ending = run(
      trial.preloaded_with(MEGASCOPE_TEST_OTHER_TOOL ":" + std::string(MEGASCOPE_TEST_LIBRARY)));
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(occurrences(ending.err, "megascope: " MEGASCOPE_TEST_OTHER_TOOL
                                    " has an MPI_Init of its own in front of MegaScope's and "
                                    "passes no call on to it: nothing was recorded\n"),
            1)
      << ending.err;
  EXPECT_EQ(occurrences(ending.err, "other tool: "), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "megascope: "), 1) << ending.err;
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory()));
}

TEST(OtherTool, ASecondMegaScopeStaysOff) {
  const Trial trial("finish");
  const std::string copy = trial.directory() / "copy.so";
  std::filesystem::copy_file(MEGASCOPE_TEST_LIBRARY, copy);
  const Ending ending = run(trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" + copy));
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(
      occurrences(ending.err, "megascope: " + copy + " is another MegaScope and is inactive\n"), 1)
      << ending.err;
  EXPECT_EQ(occurrences(ending.err, "nothing was recorded"), 0) << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory() + "-2"));
}

TEST(OtherTool, TheSameFileTwiceIsOne) {
  const Trial trial("finish");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_LIBRARY));
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(occurrences(ending.err, "stays off"), 0) << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
}

void expect_other_mpi_unharmed(std::vector<std::string> arguments, const std::string& output) {
  const TemporaryDirectory directory;
  Command command = in_directory(directory, std::move(arguments), true);
  const std::vector<std::string> root_may = {
      "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
      "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_btl=self,vader",
      "OMPI_MCA_btl_vader_single_copy_mechanism=none"};
  command.environment.insert(command.environment.end(), root_may.begin(), root_may.end());
  command.environment.push_back("MEGASCOPE_OUT=" + (directory / "run"));
  const Ending ending = run(command);
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, output);
  EXPECT_EQ(occurrences(ending.err, "\n"), 1) << ending.err;
  const std::string here = is_mpich() ? "MPICH" : "Open MPI";
  const std::string there = is_mpich() ? "Open MPI" : "MPICH";
  EXPECT_EQ(occurrences(ending.err, "the program runs with \"" + there), 1) << ending.err;
  EXPECT_EQ(
      occurrences(ending.err, "this MegaScope was built for " + here + ": nothing is recorded"), 1)
      << ending.err;
  EXPECT_FALSE(std::filesystem::exists(directory / "run"));
}

TEST(OtherMpi, RunsUnharmed) {
  if (std::string(MEGASCOPE_TEST_OTHER_MPI).empty()) GTEST_SKIP() << "no other MPI is installed";
  expect_other_mpi_unharmed({MEGASCOPE_TEST_OTHER_MPI}, "1 ranks, sum 1\n");
  expect_other_mpi_unharmed({MEGASCOPE_TEST_OTHER_MPIRUN, "-n", "2", MEGASCOPE_TEST_OTHER_MPI},
                            "2 ranks, sum 4\n");
}

}  // namespace
}  // namespace megascope::faults
