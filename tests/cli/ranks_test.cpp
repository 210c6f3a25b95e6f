#include "plugin/cli/launch/ranks_asked.h"

#include <gtest/gtest.h>

namespace megascope::cli {
namespace {

RanksAsked asked(LauncherKind kind, const std::vector<std::string>& command) {
  return ranks_asked(command, kind,
                     [](const std::string& word) { return word == "./app" || word == "./other"; });
}

TEST(RanksAsked, AreThoseOfTheLauncherNotOfTheProgram) {
  for (const char* option : {"-n", "-np", "--n", "--np", "-c"}) {
    EXPECT_EQ(asked(LauncherKind::kOpenMpi,
                    {"mpirun", "--oversubscribe", option, "4", "./app", "-n", "9"})
                  .count,
              4)
        << option;
  }
  EXPECT_EQ(asked(LauncherKind::kHydra, {"mpiexec", "-n", "3", "./app"}).count, 3);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "./app", "-n", "9"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "many", "./app"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "99999999999999999999", "./app"}).count,
            0);
}

TEST(RanksAsked, OfSeveralProgramsAreAddedWhenAllReportTheirs) {
  EXPECT_EQ(asked(LauncherKind::kOpenMpi,
                  {"mpirun", "-n", "1", "./app", ":", "-n", "2", "./other", "-n", "7"})
                .count,
            3);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "1", "./app", ":", "./other"}).count, 0);
}

TEST(RanksAsked, OfSrunAreTasks) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-n", "4"}, {"-n4"}, {"--ntasks=4"}, {"--ntasks", "4"}}) {
    std::vector<std::string> command = {"srun", "-c", "8"};
    command.insert(command.end(), words.begin(), words.end());
    command.push_back("./app");
    EXPECT_EQ(asked(LauncherKind::kSrun, command).count, 4) << words.front();
  }
}

TEST(RanksAsked, HostsAreSeen) {
  for (const char* option : {"--host", "-H", "--hostfile", "-hostfile", "-machinefile"}) {
    EXPECT_TRUE(
        asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "4", option, "a", "./app"}).names_hosts)
        << option;
  }
  EXPECT_TRUE(
      asked(LauncherKind::kSrun, {"srun", "-n", "4", "--nodelist=a,b", "./app"}).names_hosts);
  EXPECT_FALSE(
      asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "4", "./app", "--host", "a"}).names_hosts);
}

}  // namespace
}  // namespace megascope::cli
