#include "core/base/thread_cpu.h"

#include "core/base/clock.h"
#include "core/base/wiped_memory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace megascope {
namespace {

std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void compute(std::uint64_t cpu_ns) {
  const std::uint64_t end_ns = thread_cpu_ns() + cpu_ns;
  while (thread_cpu_ns() < end_ns) {
  }
}

bool has_schedstat() {
  std::uint64_t numbers[3] = {};
  std::ifstream file("/proc/thread-self/schedstat");
  return (file >> numbers[0] >> numbers[1] >> numbers[2]) && numbers[2] != 0;
}

/// In a process of its own; true: nothing failed there.
bool in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ThreadCpuReader, CountsCpuTimeAndNotSleep) {
  ThreadCpuReader reader{};
  const ThreadCpu first = reader.read();
  compute(20'000'000);
  const ThreadCpu worked = reader.read();
  usleep(20'000);
  const ThreadCpu slept = reader.read();
  EXPECT_GE(worked.cpu_ns - first.cpu_ns, 20'000'000u);
  EXPECT_LT(slept.cpu_ns - worked.cpu_ns, 10'000'000u);
  EXPECT_NE(first.switches, ThreadCpu::kUnknown);
  EXPECT_EQ(first.wait_ns != ThreadCpu::kUnknown, has_schedstat());
  reader.close();
}

/// Two threads on one processor: each has it half of the time.
TEST(ThreadCpuReader, CountsTheWaitForACore) {
  if (!has_schedstat())
    GTEST_SKIP() << "the kernel does not report how long threads wait for a core";
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  ASSERT_TRUE(in_child([&all] {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
    std::thread other([] { compute(300'000'000); });
    ThreadCpuReader reader{};
    const std::uint64_t begin_ns = clock::monotonic_ns();
    const ThreadCpu first = reader.read();
    compute(200'000'000);
    const ThreadCpu last = reader.read();
    const auto wall_ns = static_cast<double>(clock::monotonic_ns() - begin_ns);
    other.join();
    const double waited_ns = static_cast<double>(last.wait_ns - first.wait_ns);
    EXPECT_GT(waited_ns, 0.25 * wall_ns);
    EXPECT_NEAR(static_cast<double>(last.cpu_ns - first.cpu_ns) + waited_ns, wall_ns,
                0.1 * wall_ns);
    EXPECT_GT(last.switches, first.switches);
  }));
}

TEST(ThreadCpuReader, GoesOnWhereTheThreadMovesToAnotherProcessor) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  ASSERT_TRUE(in_child([&all] {
    ThreadCpuReader reader{};
    ThreadCpu last = reader.read();
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &all)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      sched_setaffinity(0, sizeof one, &one);
      compute(5'000'000);
      const ThreadCpu now = reader.read();
      EXPECT_GE(now.cpu_ns, last.cpu_ns + 5'000'000);
      EXPECT_GE(now.wait_ns, last.wait_ns) << "kUnknown is the greatest";
      last = now;
    }
    reader.close();
  }));
}

TEST(ThreadCpuReader, LeavesErrnoAndLowDescriptorsAlone) {
  ASSERT_TRUE(in_child([] {
    const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    ThreadCpuReader reader{};
    errno = 77;
    (void)reader.read();
    EXPECT_EQ(errno, 77);
    const int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(after, before);
    close(after);
    reader.close();
    EXPECT_EQ(errno, 77);
  }));
}

/// As in a container that masks the file, or where no descriptor is left.
TEST(ThreadCpuReader, WithoutTheFileCpuTimeIsStillKnown) {
  ASSERT_TRUE(in_child([] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    ThreadCpuReader reader{};
    errno = 0;
    const ThreadCpu now = reader.read();
    EXPECT_EQ(now.wait_ns, ThreadCpu::kUnknown);
    EXPECT_NE(now.cpu_ns, ThreadCpu::kUnknown);
    EXPECT_NE(now.switches, ThreadCpu::kUnknown);
    EXPECT_EQ(errno, 0);
    reader.close();
  }));
}

/// An application that becomes a daemon closes all descriptors; their numbers are then those of its
/// own files.
TEST(ThreadCpuReader, NeverReadsNorClosesAFileOfTheApplication) {
  if (!has_schedstat())
    GTEST_SKIP() << "the kernel does not report how long threads wait for a core";
  ASSERT_TRUE(in_child([] {
    ThreadCpuReader reader{};
    const ThreadCpu first = reader.read();
    int number = -1;
    for (int i = 3; i < 2048; ++i) {
      if (fcntl(i, F_GETFD) >= 0) number = i;
    }
    ASSERT_GE(number, 512);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    ASSERT_EQ(dup2(pipes[0], number), number);
    const ThreadCpu second = reader.read();
    EXPECT_GE(second.wait_ns, first.wait_ns);
    EXPECT_NE(second.wait_ns, ThreadCpu::kUnknown) << "it opens the file again";
    reader.close();
    EXPECT_GE(fcntl(number, F_GETFD), 0) << "the application's file is open";
  }));
}

/// Memory that a fork zeroes: the child opens its own file, and reads its own thread.
TEST(ThreadCpuReader, AForkedChildReadsItself) {
  auto* const reader = new (fork_wiped_memory(sizeof(ThreadCpuReader))) ThreadCpuReader{};
  compute(50'000'000);
  const ThreadCpu parent = reader->read();
  ASSERT_TRUE(in_child([&] {
    const ThreadCpu child = reader->read();
    EXPECT_LT(child.cpu_ns, parent.cpu_ns) << "a new thread's time begins at 0";
    EXPECT_EQ(child.wait_ns != ThreadCpu::kUnknown, has_schedstat());
    reader->close();
  }));
  EXPECT_GE(reader->read().cpu_ns, parent.cpu_ns);
  reader->close();
}

}  // namespace
}  // namespace megascope
