#include "core/hooks/refusals.h"
#include "tests/hooks/recorded_hooks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace megascope::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(HookRecorder, NamesKnownBeforeARecordingAreDefinedInIt) {
  const RegionId early = region("early");
  const CounterId counter_early = counter("counter early", "ms");
  ASSERT_TRUE(in_child([&](Recorder&) {
    enter(early);
    count(counter_early, 2.5);
    leave(early);
    EXPECT_EQ(region("early"), early);
    EXPECT_NE(region("late"), early);
  }));
  EXPECT_EQ(file_->definitions().region(early)->name, "early");
  EXPECT_THAT(file_->definitions().counters,
              testing::Contains(CounterDefinition{counter_early, "counter early", "ms"}));
}

TEST_F(HookRecorder, AStepEndsWhereTheNextBegins) {
  ASSERT_TRUE(in_child([](Recorder&) {
    for (int step = 0; step < 3; ++step) {
      begin_step(step);
      enter(region("inner"));
      pause();
      leave(region("inner"));
      pause();
    }
    end_step();
  }));
  EXPECT_THAT(outline(), ElementsAre("step 0", ">inner", "step 1", ">inner", "step 2", ">inner"));
  EXPECT_EQ(losses(LossCause::kUnbalanced), 0u);
}

TEST_F(HookRecorder, WhatIsLeftOutOfOrderIsMendedAndCounted) {
  ASSERT_TRUE(in_child([](Recorder&) {
    const RegionId a = region("a");
    const RegionId b = region("b");
    leave(a);
    EXPECT_THAT(last_refusal(), HasSubstr("not open"));
    enter(a);
    pause();
    enter(b);
    pause();
    leave(a);
    EXPECT_THAT(last_refusal(), HasSubstr("inside"));
    pause();
    enter(b);
    pause();
    leave(b);
    end_step();
    leave_innermost();
  }));
  EXPECT_THAT(outline(), ElementsAre("a", ">b", "b"));
  EXPECT_EQ(losses(LossCause::kUnbalanced), 4u);
}

TEST_F(HookRecorder, AKillKeepsRegionsThatAreOpen) {
  ASSERT_TRUE(in_child([](Recorder&) {
    begin_step(4);
    enter(region("open"));
    pause();
    _exit(0);
  }));
  EXPECT_THAT(outline(), ElementsAre("step 4 pending", ">open pending"));
}

TEST_F(HookRecorder, AFullBufferCountsWhatItLosesAndTheTraceStaysWhole) {
  for (const BufferPolicy policy : {BufferPolicy::kStop, BufferPolicy::kFlight}) {
    std::filesystem::remove(path());
    static constexpr std::uint64_t kCount = 200'000;
    ASSERT_TRUE(in_child(
        [](Recorder& recorder) {
          const RegionId a = region("a");
          for (std::uint64_t i = 0; i < kCount; ++i) {
            enter(a);
            leave(a);
          }
          close();
          EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
          const auto rows = recorder.profile().regions().rows();
          EXPECT_EQ(rows.size(), 1u);
          EXPECT_EQ(rows[0].count, kCount) << "the sums have all";
        },
        {}, policy, 1 << 20, false));
    const std::uint64_t kept = outline().size();
    EXPECT_GT(losses(LossCause::kBufferFull), 0u);
    EXPECT_GT(kept, 10'000u);
    EXPECT_EQ(kept + losses(LossCause::kBufferFull), kCount);
    EXPECT_EQ(losses(LossCause::kDamaged), 0u);
  }
}

TEST_F(HookRecorder, ManyRegionsOverManyChunksNest) {
  constexpr int kRounds = 30'000;
  ASSERT_TRUE(in_child([](Recorder&) {
    const RegionId outer = region("outer");
    const RegionId inner = region("inner");
    for (int i = 0; i < kRounds; ++i) {
      const Number number{ValueName::kMicroBatch, i};
      enter(outer, {&number, 1});
      enter(inner);
      leave(inner);
      leave(outer);
    }
  }));
  EXPECT_GT(file_->hook_chunks(0).size(), 3u);
  int micro_batch = 0;
  const auto calls = file_->calls(0);
  for (Call call; calls->next(call);) {
    ASSERT_FALSE(call.is_pending);
    if (call.facts.empty()) continue;
    EXPECT_EQ(value_of(call.facts[0]), micro_batch++);
  }
  EXPECT_EQ(micro_batch, kRounds);
}

TEST_F(HookRecorder, AHundredThousandTensorsAndBadOnes) {
  ASSERT_TRUE(in_child([](Recorder&) {
    for (int i = 0; i < 100'000; ++i) {
      const std::string name = "tensor " + std::to_string(i);
      TensorView view;
      view.name = name;
      view.shape.dimension_count = 2;
      view.shape.extents = {4, static_cast<std::uint64_t>(i)};
      show_slow_path(view);
    }
    TensorView nameless;
    show_slow_path(nameless);
  }));
  ASSERT_EQ(file_->definitions().tensors.size(), 100'000u);
  const auto points = file_->points(0);
  std::uint64_t next = 0;
  for (Point point; points->next(point); ++next) {
    ASSERT_EQ(point.id, next);
    ASSERT_EQ(point.tensor.extents[1], next);
  }
  EXPECT_EQ(next, 100'000u);
  EXPECT_EQ(losses(LossCause::kRefused), 1u);
}

TEST_F(HookRecorder, PlacesInGroupsAreKeptAndTheLastCounts) {
  ASSERT_TRUE(in_child([](Recorder&) {
    EXPECT_TRUE(set_place("tp", 1, 2));
    EXPECT_TRUE(set_places("dp=2+tp=4+order=tp-dp"));
    EXPECT_FALSE(set_place("", 0, 1));
    EXPECT_FALSE(set_place("a b", 0, 1));
    EXPECT_FALSE(set_place("pp", -1, 2));
    EXPECT_FALSE(set_place("pp", 0, 0));
    EXPECT_FALSE(set_places("tp=3"));
  }));
  EXPECT_THAT(file_->definitions().info.parallel,
              ElementsAre(ParallelIndex{"tp", 0, 4}, ParallelIndex{"dp", 0, 2}));
  EXPECT_EQ(losses(LossCause::kRefused), 5u);
}

TEST_F(HookRecorder, StepsOfEveryWindowAreRecordedExactly) {
  for (const StepWindow window :
       {StepWindow{0, 1, 1}, StepWindow{3, 1, 1}, StepWindow{0, 2, 1}, StepWindow{1, 3, 2},
        StepWindow{2, 4, 1}, StepWindow{0, 5, 7}, StepWindow{20, 1, 1}, StepWindow{5, 100, 3}}) {
    std::filesystem::remove(path());
    ASSERT_TRUE(in_child(
        [](Recorder& recorder) {
          enter(region("before"));
          leave(region("before"));
          for (int step = 0; step < 12; ++step) {
            begin_step(step);
            enter(region("inner"));
            leave(region("inner"));
            end_step();
          }
          close();
          EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
          const Profile sums = recorder.profile();
          for (const RegionTotals& row : sums.regions().rows()) {
            EXPECT_EQ(row.count, row.region == region("before") ? 1u : 12u)
                << "the sums have all steps";
          }
        },
        window, BufferPolicy::kStop, 64 << 20, false));
    std::vector<std::int64_t> wanted;
    for (std::int64_t step = 0; step < 12; ++step) {
      const auto s = static_cast<std::uint64_t>(step);
      if (s >= window.start && (s - window.start) % window.interval < window.count)
        wanted.push_back(step);
    }
    EXPECT_EQ(steps(), wanted) << window.start << " " << window.interval << " " << window.count;
    EXPECT_EQ(losses(LossCause::kBufferFull), 0u);
  }
}

TEST_F(HookRecorder, ARegionAroundWindowsIsCutAtTheirEndsAndCountsOnce) {
  ASSERT_TRUE(in_child(
      [](Recorder& recorder) {
        enter(region("whole"));
        for (int step = 0; step < 6; ++step) {
          begin_step(step);
          pause();
          end_step();
          pause();
        }
        leave(region("whole"));
        close();
        EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
        const Profile sums = recorder.profile();
        for (const RegionTotals& row : sums.regions().rows()) {
          EXPECT_EQ(row.count, row.region == region("whole") ? 1u : 6u);
        }
      },
      {.start = 1, .interval = 3, .count = 1}, BufferPolicy::kStop, 64 << 20, false));
  EXPECT_THAT(outline(), ElementsAre("whole continued", ">step 1", "whole continued", ">step 4"));
}

TEST_F(HookRecorder, ThreadsThatDieEndWhatTheyAreIn) {
  ASSERT_TRUE(in_child([](Recorder&) {
    enter(region("main"));
    for (int i = 0; i < 50; ++i) {
      std::thread([] {
        enter(region("thread"));
        count(counter("c", ""), 1);
      }).join();
    }
    pause();
    leave(region("main"));
  }));
  ASSERT_EQ(file_->definitions().locations.size(), 51u);
  for (LocationId location = 1; location <= 50; ++location)
    EXPECT_THAT(outline(location), ElementsAre("thread"));
}

TEST_F(HookRecorder, ThreadsFollowWindowsWhileTheyAnnotate) {
  ASSERT_TRUE(in_child(
      [](Recorder& recorder) {
        const auto annotate = [] {
          for (int i = 0; i < 3000; ++i) {
            enter(region("outer"));
            enter(region("inner"));
            leave(region("inner"));
            leave(region("outer"));
          }
        };
        std::thread threads[] = {std::thread(annotate), std::thread(annotate),
                                 std::thread(annotate)};
        for (int step = 0; step < 200; ++step) begin_step(step);
        for (std::thread& thread : threads) thread.join();
        close();
        EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
        const Profile sums = recorder.profile();
        for (const RegionTotals& row : sums.regions().rows())
          EXPECT_EQ(row.count, row.region == region("step") ? 200u : 9000u);
      },
      {.start = 0, .interval = 2, .count = 1}, BufferPolicy::kStop, 64 << 20, false));
  EXPECT_EQ(losses(LossCause::kDamaged) + losses(LossCause::kUnbalanced), 0u);
}

std::vector<double> values_annotated(const trace::TraceFile& file) {
  std::vector<double> values;
  const auto points = file.points(0);
  for (Point point; points != nullptr && points->next(point);) {
    if (point.kind == PointKind::kCounter) values.push_back(point.value);
  }
  return values;
}

TEST_F(HookRecorder, WhatIsAnnotatedLateIsKeptThoughAnotherThreadBeginsAStepMeanwhile) {
  const StepWindow every_second{.start = 0, .interval = 2, .count = 1};
  ASSERT_TRUE(in_child(
      [](Recorder&) {
        const CounterId late = counter("late", "");
        begin_step(1);  // is not kept
        enter(region("outer"));
        {
          const KeptWhile kept;
          count(late, 1);
          std::thread([] { begin_step(2); }).join();
          count(late, 2);
          std::thread([] { begin_step(3); }).join();
          count(late, 3);
          std::thread([] { begin_step(4); }).join();
        }
        count(late, 4);
        pause();
        {
          const KeptWhile kept;
          std::thread([] { begin_step(5); }).join();
          count(late, 5);
        }
        count(late, 6);  // is not kept
        leave(region("outer"));
      },
      every_second));
  EXPECT_THAT(values_annotated(*file_), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(outline(), ElementsAre("step 1 continued", ">outer continued"));
  EXPECT_EQ(losses(LossCause::kDamaged) + losses(LossCause::kUnbalanced), 0u);
}

TEST_F(HookRecorder, ARecordingEndsWhileAThreadAnnotatesWhatIsNotKept) {
  ASSERT_TRUE(in_child(
      [](Recorder& recorder) {
        const RegionId inner = region("inner");
        std::atomic<std::uint64_t> annotated{0};
        std::atomic<bool> is_over{false};
        begin_step(0);  // is kept
        std::thread teller([&] {
          enter(inner);
          leave(inner);
          while (!is_over.load(std::memory_order_relaxed)) {
            enter(inner);
            leave(inner);
            annotated.fetch_add(1, std::memory_order_relaxed);
          }
        });
        while (annotated.load() < 100) pause();
        begin_step(1);
        const std::uint64_t begin = annotated.load();
        while (annotated.load() < begin + 30'000)
          pause();  // through several chunks that no reader reads
        const std::uint64_t least = annotated.load();
        EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
        const std::uint64_t most = annotated.load() + 2;
        while (annotated.load() < most + 1000) pause();  // goes on
        is_over = true;
        teller.join();
        const Profile sums = recorder.profile();
        for (const RegionTotals& row : sums.regions().rows()) {
          if (row.region != inner) continue;
          EXPECT_GE(row.count, least);
          EXPECT_LE(row.count, most + 1);
        }
      },
      {.start = 0, .interval = 2, .count = 1}, BufferPolicy::kStop, 64 << 20, false));
  EXPECT_EQ(losses(LossCause::kDamaged), 0u);
}

TEST_F(HookRecorder, AForkedChildIsIgnored) {
  ASSERT_TRUE(in_child([](Recorder&) {
    enter(region("parent"));
    const pid_t child = fork();
    if (child == 0) {
      leave(region("parent"));
      begin_step(3);
      count(counter("of the child", ""), 1);
      TensorView view;
      view.name = "t";
      show_slow_path(view);
      _exit(set_place("tp", 0, 1) ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    leave(region("parent"));
  }));
  EXPECT_THAT(outline(), ElementsAre("parent"));
}

}  // namespace
}  // namespace megascope::hooks
