#include "core/base/node_cpus.h"

#include "core/base/cpu_grant.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sched.h>
#include <unistd.h>

namespace megascope {
namespace {

namespace fs = std::filesystem;

class CpuGrants : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(mounts_.path() + path).parent_path());
    std::ofstream(mounts_.path() + path) << text << '\n';
  }

  const test::TemporaryDirectory mounts_;
};

TEST_F(CpuGrants, IsTheMinOfAllAbove) {
  write("/cpu.max", "max 100000");
  write("/job/cpu.max", "300000 100000");
  write("/job/step/cpu.max", "max 100000");
  EXPECT_DOUBLE_EQ(cpu_grant("0::/job/step\n", mounts_.path()).processors, 3.0);
  write("/job/step/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(cpu_grant("0::/job/step\n", mounts_.path()).processors, 1.5);
  EXPECT_EQ(cpu_grant("0::/job/step\n", mounts_.path()).group, "/job/step");
  EXPECT_DOUBLE_EQ(cpu_grant("0::/\n", mounts_.path()).processors, 0.0);
}

TEST_F(CpuGrants, IsReadOfVersionOneToo) {
  write("/cpu,cpuacct/job/cpu.cfs_quota_us", "50000");
  write("/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  write("/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(
      cpu_grant("3:cpuset:/other\n2:cpu,cpuacct:/job\n0::/\n", mounts_.path()).processors, 0.5);
}

TEST_F(CpuGrants, NonsenseIsNoLimit) {
  write("/cpu.max", "200000 0");
  for (const char* groups : {"", "0", "::", "0::", "0::/", "nonsense\n1:cpu\n2:cpu:\n"})
    EXPECT_DOUBLE_EQ(cpu_grant(groups, mounts_.path()).processors, 0.0) << groups;
}

/// A tree of the kernel's files.
class NodeCpusTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << text << '\n';
  }
  void write_siblings(std::uint32_t processor, const std::string& siblings) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(processor) +
              "/topology/thread_siblings_list",
          siblings);
  }

  const test::TemporaryDirectory root_;
};

TEST_F(NodeCpusTest, HyperThreadsOfOneCoreAreOneCore) {
  write("/sys/devices/system/cpu/online", "0-7");
  write("/sys/devices/system/cpu/smt/active", "1");
  for (std::uint32_t i = 0; i < 8; ++i)
    write_siblings(i, std::to_string(i % 4) + "," + std::to_string(i % 4 + 4));
  const NodeCpus cpus = node_cpus({1, 2, 5}, root_.path());
  EXPECT_EQ(cpus.cores, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(cpus.processors, 3u);
  EXPECT_EQ(cpus.node_cores, 4u);
  EXPECT_EQ(cpus.node_processors, 8u);
  EXPECT_EQ(cpus.granted_milli, 0u);
}

TEST_F(NodeCpusTest, OfACoreWhoseLowestProcessorIsExcludedTheCoreIsTheSame) {
  write("/sys/devices/system/cpu/online", "0-3");
  for (std::uint32_t i = 0; i < 4; ++i) write_siblings(i, i < 2 ? "0-1" : "2-3");
  EXPECT_EQ(node_cpus({1, 3}, root_.path()).cores, (std::vector<std::uint32_t>{0, 2}));
}

TEST_F(NodeCpusTest, WithoutTopologyEachProcessorIsACore) {
  const NodeCpus cpus = node_cpus({0, 7}, root_.path());
  EXPECT_EQ(cpus.cores, (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(cpus.node_cores, 0u);
}

TEST_F(NodeCpusTest, QuotasOfBothVersionsAreFound) {
  write("/proc/self/cgroup", "0::/job");
  write("/sys/fs/cgroup/job/cpu.max", "150000 100000");
  NodeCpus cpus = node_cpus({0, 1}, root_.path());
  EXPECT_EQ(cpus.granted_milli, 1500u);
  EXPECT_EQ(cpus.group, "/job");
  write("/proc/self/cgroup", "2:cpu,cpuacct:/box");
  write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000");
  write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  cpus = node_cpus({0, 1}, root_.path());
  EXPECT_DOUBLE_EQ(cpus.granted(), 0.5);
}

TEST(NodeCpusHere, AreThoseOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const NodeCpus all = node_cpus();
  EXPECT_EQ(all.processors, static_cast<std::uint32_t>(CPU_COUNT(&before)));
  ASSERT_FALSE(all.cores.empty());
  EXPECT_GE(all.node_processors, all.processors);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(node_cpus().processors, 1u);
  EXPECT_EQ(node_cpus().cores.size(), 1u);
  sched_setaffinity(0, sizeof before, &before);
}

TEST(NodeCpusText, IsReadBack) {
  const NodeCpus cpus{.cores = {0, 1, 2, 8, 9},
                      .processors = 10,
                      .node_cores = 16,
                      .node_processors = 32,
                      .granted_milli = 1500,
                      .group = "/job/step_0",
                      .has_core_wait = false};
  EXPECT_EQ(to_text(cpus),
            "cores=0-2,8-9 processors=10 node_cores=16 node_processors=32 granted_milli=1500 "
            "group=/job/step_0 core_wait=unknown");
  NodeCpus read;
  ASSERT_TRUE(parse(to_text(cpus), read));
  EXPECT_EQ(read, cpus);
  ASSERT_TRUE(parse("cores=3 of_a_later_version=7", read));
  EXPECT_EQ(read.cores, std::vector<std::uint32_t>{3});
}

TEST(NodeCpusText, MalformedIsRefused) {
  NodeCpus read;
  for (const char* text :
       {"cores", "cores=1-", "cores=2-1", "cores=1,1", "cores=-1", "cores=x", "cores=0-99999999",
        "processors=99999999999", "processors=", "cores=0  processors=1"}) {
    EXPECT_FALSE(parse(text, read)) << text;
  }
}

/// For any text, the result can be written and read again.
TEST(NodeCpusText, MutationsAreReadOrRefused) {
  const std::string whole =
      "cores=0-2,8-9 processors=10 node_cores=16 node_processors=32 granted_milli=1500 group=/job "
      "core_wait=unknown";
  std::mt19937 random(7);
  const std::string letters = "0123456789-,= abc\0\xFF";
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (std::size_t change = 0; change <= random() % 4; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else
        text[at] = letters[random() % letters.size()];
      if (text.empty()) text = "c";
    }
    NodeCpus read;
    if (!parse(text, read)) continue;
    NodeCpus again;
    ASSERT_TRUE(parse(to_text(read), again) ||
                read.group.find_first_of(std::string(" \0", 2)) != std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace megascope
