#include "core/hooks/cpu_readings.h"

#include "core/base/clock.h"
#include "tests/hooks/recorded_hooks.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace megascope::hooks {
namespace {

bool has_schedstat() {
  std::uint64_t numbers[3] = {};
  std::ifstream file("/proc/thread-self/schedstat");
  return (file >> numbers[0] >> numbers[1] >> numbers[2]) && numbers[2] != 0;
}

void compute(std::uint64_t wall_ns) {
  const std::uint64_t end_ns = clock::monotonic_ns() + wall_ns;
  while (clock::monotonic_ns() < end_ns) {
  }
}

class CpuReadingsTest : public HookRecorder {
 protected:
  CpuReadingsTest() { gate_ = kAll | kCpu; }

  std::vector<CpuReading> readings(LocationId location = 0) const {
    std::vector<CpuReading> all;
    CpuReadings stream(file_->points(location));
    for (CpuReading one; stream.next(one);) all.push_back(one);
    return all;
  }
};

TEST_F(CpuReadingsTest, AreTakenWhereStepsBeginAndEnd) {
  constexpr int kWarmUp = 20;  // what a reading costs is known then
  ASSERT_TRUE(in_child([](Recorder&) {
    for (int i = 0; i < kWarmUp; ++i) (void)read_cpu();
    for (int step = 0; step < 3; ++step) {
      begin_step(step);
      compute(50'000'000);
      end_step();
      usleep(50'000);
    }
  }));
  std::vector<CpuReading> all = readings();
  ASSERT_EQ(all.size(), kWarmUp + 6u);
  all.erase(all.begin(), all.begin() + kWarmUp);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    EXPECT_GT(all[i + 1].cpu_ns - all[i].cpu_ns, 1e6) << "it computes";
    EXPECT_LT(all[i + 1].cpu_ns - all[i].cpu_ns,
              1.1 * static_cast<double>(all[i + 1].time_ns - all[i].time_ns));
    const double after_ns = i + 2 < all.size() ? all[i + 2].cpu_ns - all[i + 1].cpu_ns : 0;
    EXPECT_LT(after_ns, 10e6) << "it sleeps";
    EXPECT_EQ(all[i].wait_ns.has_value(), has_schedstat());
    EXPECT_TRUE(all[i].switches.has_value());
  }
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(losses(LossCause::kDamaged), 0u);
}

/// A step of microseconds does not pay for a reading of a microsecond.
TEST_F(CpuReadingsTest, OfShortStepsAreFew) {
  ASSERT_TRUE(in_child([](Recorder&) {
    for (int step = 0; step < 2000; ++step) begin_step(step);
    end_step();
  }));
  EXPECT_EQ(steps().size(), 2000u);
  EXPECT_LT(readings().size(), 100u);
}

TEST_F(CpuReadingsTest, OfStepsThatAreNotRecordedAreNotKept) {
  const StepWindow window{.start = 1, .interval = 4, .count = 1};
  ASSERT_TRUE(in_child(
      [](Recorder&) {
        for (int step = 0; step < 4; ++step) {
          begin_step(step);
          compute(20'000'000);
        }
        end_step();
        EXPECT_GT(cpu_totals().cpu_ns, 1'000'000u) << "the sums go on";
      },
      window));
  EXPECT_EQ(steps(), std::vector<std::int64_t>{1});
  EXPECT_LE(readings().size(), 2u);
}

TEST_F(CpuReadingsTest, WithoutTheBitThereAreNone) {
  gate_ = kAll;
  ASSERT_TRUE(in_child([](Recorder&) {
    EXPECT_FALSE(reads_cpu());
    begin_step(0);
    compute(10'000'000);
    end_step();
    EXPECT_EQ(read_cpu(), 0u);
  }));
  EXPECT_TRUE(readings().empty());
}

TEST_F(CpuReadingsTest, EachThreadHasItsOwn) {
  ASSERT_TRUE(in_child([](Recorder&) {
    EXPECT_TRUE(reads_cpu());
    (void)read_cpu();
    std::thread other([] {
      (void)read_cpu();
      compute(30'000'000);
    });  // reads again when it ends
    other.join();
    (void)read_cpu();
    EXPECT_EQ(cpu_totals().readings, 4u);
  }));
  ASSERT_EQ(readings(0).size(), 2u);
  ASSERT_EQ(readings(1).size(), 2u);
  EXPECT_GT(readings(1)[1].cpu_ns - readings(1)[0].cpu_ns, 1e6);
  EXPECT_LT(readings(0)[1].cpu_ns - readings(0)[0].cpu_ns, 30e6) << "the main thread waited";
}

TEST_F(CpuReadingsTest, ADescriptorOfAThreadIsClosedWithIt) {
  ASSERT_TRUE(in_child([](Recorder&) {
    const auto count = [] {
      return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                           std::filesystem::directory_iterator());
    };
    (void)read_cpu();
    const auto before = count();
    for (int i = 0; i < 20; ++i) std::thread([] { (void)read_cpu(); }).join();
    EXPECT_EQ(count(), before);
  }));
}

TEST_F(CpuReadingsTest, AForkedChildTakesNoneAndItsParentGoesOn) {
  ASSERT_TRUE(in_child([](Recorder&) {
    (void)read_cpu();
    const pid_t child = fork();
    if (child == 0) _exit(read_cpu() == 0 && cpu_totals().readings == 1 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    compute(5'000'000);
    (void)read_cpu();
  }));
  EXPECT_EQ(readings().size(), 2u);
}

TEST_F(CpuReadingsTest, ErrnoIsLeftAlone) {
  ASSERT_TRUE(in_child([](Recorder&) {
    for (int i = 0; i < 5000; ++i) {  // chunks fill up
      errno = 77;
      (void)read_cpu();
      ASSERT_EQ(errno, 77);
    }
  }));
  EXPECT_EQ(readings().size(), 5000u);
}

/// Programs that define counters of their own are not disturbed.
TEST_F(CpuReadingsTest, AreNoneOfTheProgramsCounters) {
  ASSERT_TRUE(in_child([](Recorder&) {
    const CounterId loss = counter("loss", "");
    (void)read_cpu();
    count(loss, 2.5);
    (void)read_cpu();
  }));
  EXPECT_EQ(file_->definitions().counters.size(), 1u);
  const auto points = file_->points(0);
  std::size_t of_the_program = 0;
  for (Point point; points->next(point);) of_the_program += is_cpu_counter(point) ? 0U : 1U;
  EXPECT_EQ(of_the_program, 1u);
  EXPECT_EQ(readings().size(), 2u);
}

}  // namespace
}  // namespace megascope::hooks
