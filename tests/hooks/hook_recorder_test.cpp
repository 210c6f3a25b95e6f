#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "core/lifecycle/runtime.h"
#include "core/record/user_regions.h"
#include "core/trace/reader.h"

/// Hooks into a recorder of their own, in a process of its own for each test: a recording is for a process.
namespace megascope::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint8_t kAll = kRegions | kTensors | kShows;

class HookRecorder : public testing::Test {
 protected:
  HookRecorder() {
    char name[] = "/tmp/hooks-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~HookRecorder() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  std::string path() const { return folder_ + "/rank-0.mgt"; }

  /// Runs `tell` in a child process that records; true: it ended by itself with 0.
  bool in_child(const std::function<void(Recorder&)>& tell, const StepWindow& window = {}, BufferPolicy policy = BufferPolicy::kStop,
                std::uint64_t size_bytes = 64 << 20, bool finishes = true) {
    const pid_t child = fork();
    if (child == 0) {
      auto* recorder = new Recorder({.path = path(), .size_bytes = size_bytes, .policy = policy, .use_tsc = false, .has_windows = !window.has_all()});
      ProcessInfo info;
      info.run_id = "test";
      info.pid = getpid();
      info.world_size = 8;
      bool is_sound = recorder->open(info).is_ok();
      open(*recorder, kAll, window);
      tell(*recorder);
      close();
      if (finishes) is_sound = recorder->finish(EndState::kFinalized).is_ok() && is_sound;
      _exit(is_sound && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      EXPECT_TRUE(trace::TraceFile::open(path(), file_).is_ok());
      return file_ != nullptr;
    }
    return false;
  }

  /// "name[step] enter<leave" without times: nesting by indentation.
  std::vector<std::string> outline(LocationId location = 0) const {
    std::vector<std::string> lines;
    std::vector<std::uint64_t> open;
    const auto calls = file_->calls(location);
    for (Call call; calls->next(call);) {
      while (!open.empty() && open.back() <= call.enter_ns && open.back() != call.leave_ns) open.pop_back();
      std::string line(open.size(), '>');
      line += file_->definitions().region(call.region)->name;
      if (step_told(call) >= 0) line += " " + std::to_string(step_told(call));
      if (call.is_pending) line += " pending";
      for (const Fact& fact : call.facts) {
        if (value_name_of(fact) == ValueName::kContinued) line += " continued";
      }
      lines.push_back(line);
      open.push_back(call.leave_ns);
    }
    return lines;
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> numbers;
    const auto calls = file_->calls(0);
    for (Call call; calls->next(call);) {
      if (step_told(call) >= 0) numbers.push_back(step_told(call));
    }
    return numbers;
  }
  std::uint64_t losses(LossCause cause) const { return file_->definitions().losses[static_cast<std::size_t>(cause)]; }

  std::string folder_;
  std::unique_ptr<trace::TraceFile> file_;
};

/// Long enough for the clock to move.
void pause() { usleep(100); }

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
  EXPECT_THAT(file_->definitions().counters, testing::Contains(CounterDefinition{counter_early, "counter early", "ms"}));
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
    EXPECT_THAT(last_refusal(), HasSubstr("not in"));
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
  ASSERT_TRUE(in_child(
      [](Recorder&) {
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
      show_slowly(view);
    }
    TensorView nameless;
    show_slowly(nameless);
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
  EXPECT_THAT(file_->definitions().info.parallel, ElementsAre(ParallelIndex{"tp", 0, 4}, ParallelIndex{"dp", 0, 2}));
  EXPECT_EQ(losses(LossCause::kRefused), 5u);
}

TEST_F(HookRecorder, StepsOfEveryWindowAreRecordedExactly) {
  for (const StepWindow window : {StepWindow{0, 1, 1}, StepWindow{3, 1, 1}, StepWindow{0, 2, 1}, StepWindow{1, 3, 2}, StepWindow{2, 4, 1},
                                  StepWindow{0, 5, 7}, StepWindow{20, 1, 1}, StepWindow{5, 100, 3}}) {
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
            EXPECT_EQ(row.count, row.region == region("before") ? 1u : 12u) << "the sums have all steps";
          }
        },
        window, BufferPolicy::kStop, 64 << 20, false));
    std::vector<std::int64_t> wanted;
    for (std::int64_t step = 0; step < 12; ++step) {
      const auto s = static_cast<std::uint64_t>(step);
      if (s >= window.start && (s - window.start) % window.interval < window.count) wanted.push_back(step);
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
  for (LocationId location = 1; location <= 50; ++location) EXPECT_THAT(outline(location), ElementsAre("thread"));
}

TEST_F(HookRecorder, ThreadsFollowWindowsWhileTheyTell) {
  ASSERT_TRUE(in_child(
      [](Recorder& recorder) {
        const auto tell = [] {
          for (int i = 0; i < 3000; ++i) {
            enter(region("outer"));
            enter(region("inner"));
            leave(region("inner"));
            leave(region("outer"));
          }
        };
        std::thread threads[] = {std::thread(tell), std::thread(tell), std::thread(tell)};
        for (int step = 0; step < 200; ++step) begin_step(step);
        for (std::thread& thread : threads) thread.join();
        close();
        EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
        const Profile sums = recorder.profile();
        for (const RegionTotals& row : sums.regions().rows()) EXPECT_EQ(row.count, row.region == region("step") ? 200u : 9000u);
      },
      {.start = 0, .interval = 2, .count = 1}, BufferPolicy::kStop, 64 << 20, false));
  EXPECT_EQ(losses(LossCause::kDamaged) + losses(LossCause::kUnbalanced), 0u);
}

TEST_F(HookRecorder, AForkedChildIsPassedOver) {
  ASSERT_TRUE(in_child([](Recorder&) {
    enter(region("parent"));
    const pid_t child = fork();
    if (child == 0) {
      leave(region("parent"));
      begin_step(3);
      count(counter("of the child", ""), 1);
      TensorView view;
      view.name = "t";
      show_slowly(view);
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

namespace megascope {
namespace {

/// Nobody begins a recording by itself here.
class NoRuntime final : public Runtime {
 public:
  bool prepare(ItemReader) override { return false; }
  bool uses_tsc() const override { return false; }
  std::string clock_domain() const override { return {}; }
  double sync_interval_s() const override { return 0; }
  bool is_company_vouched() const override { return false; }
  bool wants_call_sites() const override { return false; }
  ControlPlan control_plan() const override { return {}; }
  const std::string& own_run_id() const override { return name_; }
  Recorder* begin(const StartFacts&, const std::vector<RegionDefinition>&) override { return nullptr; }
  void end(Collective*, const Company&) override {}
  void hook_called() override {}
  void aborting() override {}
  void complain(const std::string&) override {}

 private:
  std::string name_;
};

}  // namespace

Runtime& runtime() {
  static NoRuntime none;
  return none;
}

}  // namespace megascope
