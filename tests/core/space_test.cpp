#include "core/trace/space.h"

#include "core/base/safe_file.h"
#include "core/config/local_ranks.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/statvfs.h>

namespace megascope::trace {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// A directory that stands for "/", with files of the kernel.
class SpaceTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << text;
  }
  void write_available(std::uint64_t bytes) {
    write("/proc/meminfo", "MemTotal:       99999999 kB\nMemFree: 1 kB\nMemAvailable:   " +
                               std::to_string(bytes / 1024) + " kB\nBuffers: 5 kB\n");
  }
  const test::TemporaryDirectory root_;
};

TEST(FreeSpaceFloor, IsFivePercentWithinBoundsAndAnEighthOfSmallFileSystems) {
  EXPECT_EQ(free_space_floor(0), 0u);
  EXPECT_EQ(free_space_floor(8 * kMiB), kMiB);
  EXPECT_EQ(free_space_floor(4 * kGiB), kGiB / 2);
  EXPECT_EQ(free_space_floor(8 * kGiB), kGiB);
  EXPECT_EQ(free_space_floor(20 * kGiB), kGiB);
  EXPECT_EQ(free_space_floor(100 * kGiB), 5 * kGiB);
  EXPECT_EQ(free_space_floor(1000 * kGiB), 16 * kGiB);
}

TEST_F(SpaceTest, DiskShareIsHalfOfWhatIsFreeForAllLocalRanksTogether) {
  struct statvfs info {};
  ASSERT_EQ(statvfs(root_.path().c_str(), &info), 0);
  const std::uint64_t floor = free_space_floor(std::uint64_t{info.f_blocks} * info.f_frsize);
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  const std::uint64_t half = free > floor ? (free - floor) / 2 : 0;
  for (const std::uint32_t ranks : {1u, 7u}) {
    const double share = static_cast<double>(std::clamp(half / ranks, kMiB, 1024 * kGiB));
    const double others = std::max(0.05 * share, 64.0 * kMiB);  // what others write meanwhile
    EXPECT_NEAR(static_cast<double>(disk_share(root_.path(), ranks)), share, others);
  }
  EXPECT_NEAR(static_cast<double>(disk_share(root_.path(), 0)),
              static_cast<double>(disk_share(root_.path(), 1)), 64.0 * kMiB);
  EXPECT_EQ(disk_share(root_.path(), ~std::uint32_t{0}), kMiB) << "never less";
  EXPECT_EQ(disk_share(root_.path() + "/nosuch", 4), kGiB);
}

TEST(MemoryShare, IsASixteenthForAllLocalRanksTogether) {
  EXPECT_EQ(memory_share(160 * kMiB, 0, 1), 10 * kMiB);
  EXPECT_EQ(memory_share(160 * kMiB, 0, 5), 2 * kMiB);
  EXPECT_EQ(memory_share(150 * kMiB, 10 * kMiB, 1), 10 * kMiB)
      << "what it holds is not available any more";
  EXPECT_EQ(memory_share(~std::uint64_t{0}, 5, 4), ~std::uint64_t{0}) << "not known: no limit";
  EXPECT_EQ(memory_share(16 * kMiB, 0, 0), kMiB);
}

TEST_F(SpaceTest, AvailableMemoryIsThatOfTheNode) {
  write_available(3 * kGiB);
  EXPECT_EQ(available_memory_bytes(root_.path()), 3 * kGiB);
}

TEST_F(SpaceTest, AvailableMemoryIsNotKnownWithoutTheKernelsFiles) {
  EXPECT_EQ(available_memory_bytes(root_.path()), ~std::uint64_t{0});
}

TEST_F(SpaceTest, ACgroupOfVersion2AndItsParentsLimitIt) {
  write_available(64 * kGiB);
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  write("/sys/fs/cgroup/job/step/memory.current", "1000\n");
  write("/sys/fs/cgroup/job/memory.max", std::to_string(300 * kMiB) + "\n");
  write("/sys/fs/cgroup/job/memory.current", std::to_string(120 * kMiB) + "\n");
  write("/sys/fs/cgroup/job/memory.stat",
        "anon 5\nfile 7\nactive_file 9\ninactive_file " + std::to_string(20 * kMiB) + "\n");
  EXPECT_EQ(available_memory_bytes(root_.path()), 200 * kMiB);
}

TEST_F(SpaceTest, ACgroupOfVersion1LimitsIt) {
  write_available(64 * kGiB);
  write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/slurm/uid_1\n0::/\n");
  write("/sys/fs/cgroup/memory/slurm/uid_1/memory.limit_in_bytes", std::to_string(kGiB) + "\n");
  write("/sys/fs/cgroup/memory/slurm/uid_1/memory.usage_in_bytes", std::to_string(kGiB / 2) + "\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(available_memory_bytes(root_.path()), kGiB / 2);
}

TEST_F(SpaceTest, InAContainerTheRootOfWhatIsMountedLimitsIt) {
  write_available(64 * kGiB);
  write("/proc/self/cgroup", "4:memory:/docker/0123\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(kGiB) + "\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(2 * kGiB) + "\n");
  EXPECT_EQ(available_memory_bytes(root_.path()), 0u) << "usage may be above the limit";
}

/// Asks as a store does; the file system below is larger than its floor.
TEST_F(SpaceTest, MemoryIsRefusedBeyondTheShareAndAgainWhenTheProgramTakesIt) {
  write_available(320 * kMiB);
  files::Descriptor file;
  ASSERT_TRUE(files::create_new(root_ / "buffers", 0600, file).is_ok());
  Space space;
  space.limit(2, Space::Kind::kMemory, file.number(), root_.path());
  EXPECT_EQ(space.memory_bytes(), 10 * kMiB);
  EXPECT_TRUE(space.check(file.number(), "buffers", 0, 10 * kMiB, Space::Use::kEvents).is_ok());
  const Status refused = space.check(file.number(), "buffers", 8 * kMiB, 4 * kMiB,
                                     Space::Use::kEvents);
  EXPECT_THAT(refused.message(), testing::HasSubstr("2 local ranks"));
  EXPECT_TRUE(
      space.check(file.number(), "buffers", 8 * kMiB, 4 * kMiB, Space::Use::kDefinitions).is_ok());
  write_available(24 * kMiB);
  EXPECT_TRUE(space.check(file.number(), "buffers", 8 * kMiB, kMiB, Space::Use::kEvents).is_ok())
      << "read once a MiB";
  EXPECT_FALSE(space.check(file.number(), "buffers", 9 * kMiB, 4096, Space::Use::kEvents).is_ok())
      << "33 MiB / 16 / 2";
}

TEST(Space, LimitsNothingByDefault) {
  const Space space;
  EXPECT_TRUE(space.check(-1, "x", 1, ~std::uint64_t{0} / 2, Space::Use::kEvents).is_ok());
  EXPECT_EQ(space.memory_bytes(), ~std::uint64_t{0});
}

TEST(LocalRanks, AreReportedByTheLauncher) {
  using config::local_rank_count;
  const auto count = [](const std::vector<std::string>& environment) {
    return local_rank_count(environment, 64);
  };
  EXPECT_EQ(count({"OMPI_COMM_WORLD_LOCAL_SIZE=8", "SLURM_TASKS_PER_NODE=4"}), 8u);
  EXPECT_EQ(count({"MPI_LOCALNRANKS=3"}), 3u);
  EXPECT_EQ(count({"SLURM_STEP_TASKS_PER_NODE=1", "LOCAL_WORLD_SIZE=8"}), 8u)
      << "torchrun in one task";
  EXPECT_EQ(count({"SLURM_STEP_TASKS_PER_NODE=4(x2),16,3"}), 16u);
  EXPECT_EQ(count({"SLURM_STEP_TASKS_PER_NODE=junk", "SLURM_TASKS_PER_NODE=128(x9)"}), 64u)
      << "not more than there are";
  EXPECT_EQ(count({}), 64u) << "as if all were here";
  EXPECT_EQ(local_rank_count(std::vector<std::string>{}, 0), 1u);
}

}  // namespace
}  // namespace megascope::trace
