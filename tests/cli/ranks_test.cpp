#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugin/cli/cpu_grant.h"
#include "plugin/cli/ranks_asked.h"

namespace megascope::cli {
namespace {

namespace fs = std::filesystem;

RanksAsked asked(LauncherKind kind, const std::vector<std::string>& command) {
  return ranks_asked(command, kind, [](const std::string& word) { return word == "./app" || word == "./other"; });
}

TEST(RanksAsked, AreThoseOfTheLauncherNotOfTheProgram) {
  for (const char* option : {"-n", "-np", "--n", "--np", "-c"}) {
    EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "--oversubscribe", option, "4", "./app", "-n", "9"}).count, 4) << option;
  }
  EXPECT_EQ(asked(LauncherKind::kHydra, {"mpiexec", "-n", "3", "./app"}).count, 3);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "./app", "-n", "9"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "many", "./app"}).count, 0);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "99999999999999999999", "./app"}).count, 0);
}

TEST(RanksAsked, OfSeveralProgramsAreAddedWhenAllSayTheirs) {
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "1", "./app", ":", "-n", "2", "./other", "-n", "7"}).count, 3);
  EXPECT_EQ(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "1", "./app", ":", "./other"}).count, 0);
}

TEST(RanksAsked, OfSrunAreTasks) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-n", "4"}, {"-n4"}, {"--ntasks=4"}, {"--ntasks", "4"}}) {
    std::vector<std::string> command = {"srun", "-c", "8"};
    command.insert(command.end(), words.begin(), words.end());
    command.push_back("./app");
    EXPECT_EQ(asked(LauncherKind::kSrun, command).count, 4) << words.front();
  }
}

TEST(RanksAsked, HostsAreSeen) {
  for (const char* option : {"--host", "-H", "--hostfile", "-hostfile", "-machinefile"}) {
    EXPECT_TRUE(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "4", option, "a", "./app"}).names_hosts) << option;
  }
  EXPECT_TRUE(asked(LauncherKind::kSrun, {"srun", "-n", "4", "--nodelist=a,b", "./app"}).names_hosts);
  EXPECT_FALSE(asked(LauncherKind::kOpenMpi, {"mpirun", "-n", "4", "./app", "--host", "a"}).names_hosts);
}

class CpuGrant : public testing::Test {
 protected:
  CpuGrant() {
    char name[] = "/tmp/cpu_grant.XXXXXX";
    mounts_ = mkdtemp(name);
  }
  ~CpuGrant() override { fs::remove_all(mounts_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(mounts_ + path).parent_path());
    std::ofstream(mounts_ + path) << text << '\n';
  }

  std::string mounts_;
};

TEST_F(CpuGrant, IsTheLeastOfAllAbove) {
  write("/cpu.max", "max 100000");
  write("/job/cpu.max", "300000 100000");
  write("/job/step/cpu.max", "max 100000");
  EXPECT_DOUBLE_EQ(granted_processors("0::/job/step\n", mounts_), 3.0);
  write("/job/step/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(granted_processors("0::/job/step\n", mounts_), 1.5);
  EXPECT_DOUBLE_EQ(granted_processors("0::/\n", mounts_), 0.0);
}

TEST_F(CpuGrant, IsReadOfVersionOneToo) {
  write("/cpu,cpuacct/job/cpu.cfs_quota_us", "50000");
  write("/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  write("/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(granted_processors("3:cpuset:/other\n2:cpu,cpuacct:/job\n0::/\n", mounts_), 0.5);
}

TEST_F(CpuGrant, NonsenseIsNoLimit) {
  write("/cpu.max", "200000 0");
  for (const char* groups : {"", "0", "::", "0::", "0::/", "nonsense\n1:cpu\n2:cpu:\n"}) EXPECT_DOUBLE_EQ(granted_processors(groups, mounts_), 0.0) << groups;
}

}  // namespace
}  // namespace megascope::cli
