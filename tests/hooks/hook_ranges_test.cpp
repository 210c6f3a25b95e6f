#include "tests/hooks/recorded_hooks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <unistd.h>

namespace megascope::hooks {
namespace {

using testing::ElementsAre;

TEST_F(HookRecorder, ARegionLeftWhileOthersInItGoOnSplitsThem) {
  ASSERT_TRUE(in_child([&](Recorder&) {
    for (const char* name : {"a", "b", "c"}) {
      enter(region(name));
      pause();
    }
    leave_at(*t_hooks, 1);  // b
    pause();
    leave(region("c"));
    leave(region("a"));
  }));
  EXPECT_THAT(outline(), ElementsAre("a", ">b", ">>c", ">c continued"));
  EXPECT_EQ(losses(LossCause::kUnbalanced), 0u);
}

TEST_F(HookRecorder, ARangeAcrossABoundaryOfStepsGoesOnAndTheStepKeepsItsNumber) {
  ASSERT_TRUE(in_child(
      [&](Recorder& recorder) {
        const RegionId across = region("across", "of another annotation");
        const RegionId plain = region("plain");
        begin_step(7);
        enter(across);
        pause();
        begin_step(8);
        pause();
        leave_at(*t_hooks, 0);  // across
        pause();
        enter(plain);
        enter(across);
        pause();
        leave(plain);
        pause();
        end_step();
        pause();
        leave(across);
        EXPECT_EQ(t_hooks->depth, 0u);
        close();
        EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
        const Profile sums = recorder.profile();
        for (const RegionTotals& row : sums.regions().rows())
          EXPECT_EQ(row.count, row.region == plain ? 1u : 2u);
      },
      {}, BufferPolicy::kStop, 64 << 20, false));
  EXPECT_THAT(outline(),
              ElementsAre("step 7", ">across", "across continued", ">step 8", "step 8 continued",
                          ">plain", ">>across", ">across continued", "across continued"));
  EXPECT_EQ(losses(LossCause::kUnbalanced), 0u);
}

TEST_F(HookRecorder, APlainRegionThatIsOpenWhereAStepEndsIsCountedBesideARangeThatGoesOn) {
  ASSERT_TRUE(in_child([&](Recorder&) {
    begin_step(1);
    enter(region("plain"));
    enter(region("across", "of another annotation"));
    enter(region("inner"));
    pause();
    end_step();
    EXPECT_EQ(t_hooks->depth, 1u);
    pause();
    leave(region("across", "of another annotation"));
  }));
  EXPECT_THAT(outline(),
              ElementsAre("step 1", ">plain", ">>across", ">>>inner", "across continued"));
  EXPECT_EQ(losses(LossCause::kUnbalanced), 2u);
}

TEST_F(HookRecorder, RangesStopOnAnyThreadAndOnce) {
  ASSERT_TRUE(in_child([&](Recorder&) {
    const RegionId name = region("range");
    const std::uint64_t first = start_range(name);
    const std::uint64_t second = start_range(name);
    EXPECT_NE(first, second);
    std::atomic<int> started{0};
    const auto stop = [&] {
      ++started;
      while (started != 2) {
      }
      stop_range(first);
    };
    std::thread one(stop);
    std::thread other(stop);
    one.join();
    other.join();
    stop_range(0);
    stop_range(second + 1);
    stop_range(~std::uint64_t{0});
    EXPECT_EQ(start_range(kNoRegion), 0u);
  }));
  std::size_t stops = 0;
  for (LocationId location = 0; location < file_->definitions().locations.size(); ++location) {
    const auto points = file_->points(location);
    for (Point point; points != nullptr && points->next(point);)
      stops += point.kind == PointKind::kRangeStop ? 1 : 0;
  }
  EXPECT_EQ(stops, 1u);
  EXPECT_EQ(losses(LossCause::kUnbalanced), 3u);
}

TEST_F(HookRecorder, NamesOfThreadsCountWheneverTheyAreGiven) {
  ASSERT_TRUE(in_child([&](Recorder&) {
    name_thread(gettid(), "early");
    enter(region("r"));
    leave(region("r"));
    name_thread(gettid(), "late");
    name_thread(1, "of no thread of ours");
    std::thread([] {
      name_thread(gettid(), "other");
      enter(region("r"));
      leave(region("r"));
    }).join();
  }));
  std::vector<std::string> names;
  for (const LocationDefinition& location : file_->definitions().locations)
    names.push_back(location.name);
  EXPECT_THAT(names, ElementsAre("late", "other"));
}

TEST_F(HookRecorder, NamesOfTwoGroupsAreTwoRegions) {
  ASSERT_TRUE(in_child([&](Recorder&) {
    const RegionId plain = region("name");
    const RegionId grouped = region("name", "group");
    EXPECT_NE(plain, grouped);
    EXPECT_EQ(region("name", "group"), grouped);
    EXPECT_NE(region(std::string(2000, 'x'), "group"), region(std::string(2000, 'x'), "other"));
    enter(grouped);
    leave(grouped);
  }));
  std::vector<std::string> groups;
  for (const RegionDefinition& defined : file_->definitions().regions) {
    if (defined.name == "name") groups.push_back(defined.group);
  }
  EXPECT_THAT(groups, ElementsAre("", "group"));
}

}  // namespace
}  // namespace megascope::hooks
