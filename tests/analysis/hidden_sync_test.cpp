#include "analysis/segments/hidden_sync.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

/// Operations of processes that synchronise where no record shows it, told by their times alone.
namespace megascope::segments {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kForward = 0;
constexpr std::uint32_t kBackward = 1;
constexpr std::int64_t kSteps = 10;
constexpr int kOfStep = 6;
constexpr double kStepNs = 1e9;

/// Two lanes (tp) of two replicas (dp): process = 2 · dp + tp. Every forward is a rank's own; every
/// backward ends for all lanes of a replica at once, and takes what the slower one works.
struct Job {
  std::vector<double> slow = {1.0, 1.0, 1.0, 1.0};  ///< by process
  double noise = 0.02;
  std::function<double(std::uint32_t, std::int64_t)> clock_ns = [](std::uint32_t, std::int64_t) {
    return 0.0;
  };
  std::function<bool(std::int64_t, int)> is_synchronised = [](std::int64_t, int) { return true; };

  RegionRun run() const {
    RegionRun result;
    result.names = {"forward", "backward"};
    result.processes.resize(4);
    std::mt19937 random(7);
    std::lognormal_distribution<double> work(0.0, noise);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      double now[4] = {};
      for (int i = 0; i < kOfStep; ++i) {
        for (std::uint32_t dp = 0; dp < 2; ++dp)
          add_pair(
              2 * dp, step, i, now, [&] { return work(random); }, result);
      }
    }
    return result;
  }

 private:
  template <class Work>
  void add_pair(std::uint32_t first, std::int64_t step, int i, double* now, const Work& work,
                RegionRun& result) const {
    double backward[2] = {};
    for (std::uint32_t process = first; process < first + 2; ++process) {
      const double begin = now[process];
      now[process] += 1e6 * slow[process] * work();
      add(process, step, kForward, begin, now[process], result);
      backward[process - first] = 2e6 * slow[process] * work();
    }
    const double end = std::max(now[first], now[first + 1]) + std::max(backward[0], backward[1]);
    for (std::uint32_t process = first; process < first + 2; ++process) {
      const double own_end = is_synchronised(step, i) ? end
                                                      : now[process] + backward[process - first];
      add(process, step, kBackward, now[process], own_end, result);
      now[process] = end;
    }
  }
  void add(std::uint32_t process, std::int64_t step, std::uint32_t name, double begin, double end,
           RegionRun& result) const {
    const double origin = kStepNs * static_cast<double>(step + 1) + clock_ns(process, step);
    result.processes[process].push_back({static_cast<std::uint64_t>(origin + begin),
                                         static_cast<std::uint64_t>(origin + end), name, step, name,
                                         process, true, false});
  }
};

/// The run with a reduction after each backward: members come at different times and leave at once.
RegionRun with_reductions(RegionRun run) {
  constexpr std::uint32_t kReduction = 2;
  run.names.push_back("all-reduce");
  for (std::vector<Segment>& segments : run.processes) {
    std::vector<Segment> all;
    for (const Segment& segment : segments) {
      all.push_back(segment);
      if (segment.name != kBackward) continue;
      const std::uint64_t late_ns = 1000 * ((31 * segment.track + all.size() * 13) % 97);
      all.push_back({segment.end_ns + late_ns, segment.end_ns + 400'000, kReduction, segment.step,
                     kReduction, segment.track, false, false});
    }
    segments = std::move(all);
  }
  return run;
}

const Coordinates kCoordinates = {{"tp", {0, 1, 0, 1}}, {"dp", {0, 0, 1, 1}}};

std::vector<std::uint32_t> names_of(const HiddenSync& hidden) {
  std::vector<std::uint32_t> names;
  for (const HiddenSync::Operation& operation : hidden.operations) names.push_back(operation.name);
  return names;
}

TEST(HiddenSync, IsFoundInWhatEndsAtOnceAndNowhereElse) {
  const RegionRun run = Job().run();
  const HiddenSync hidden = find_hidden_sync(run, kCoordinates);
  ASSERT_THAT(names_of(hidden), ElementsAre(kBackward));
  EXPECT_THAT(hidden.operations[0].dimensions, ElementsAre("tp"));
  EXPECT_EQ(hidden.instances.size(), 2u * kSteps * kOfStep);
  for (std::size_t process = 0; process < 4; ++process) {
    for (std::size_t i = 0; i < run.processes[process].size(); ++i) {
      EXPECT_EQ(hidden.instance(process, i) != kNoInstance,
                run.processes[process][i].name == kBackward);
    }
  }
}

TEST(HiddenSync, TakesTheShortestMembersTimeForTheWork) {
  Job job;
  job.slow = {1.0, 1.3, 1.0, 1.0};
  const RegionRun run = job.run();
  const HiddenSync hidden = find_hidden_sync(run, kCoordinates);
  ASSERT_THAT(names_of(hidden), ElementsAre(kBackward));
  for (const HiddenSync::Instance& instance : hidden.instances) {
    std::uint64_t shortest = ~std::uint64_t{0};
    for (const SegmentRef& member : hidden.members_of(instance)) {
      const Segment& segment = run.processes[member.process][member.segment];
      shortest = std::min(shortest, segment.end_ns - segment.begin_ns);
    }
    EXPECT_EQ(instance.work_ns, shortest);
  }
}

TEST(HiddenSync, IsFoundAlthoughClocksAreOffByAnotherAmountInEachStep) {
  Job job;
  job.clock_ns = [](std::uint32_t process, std::int64_t step) {
    return 300e3 * static_cast<double>((process * 7 + static_cast<std::uint64_t>(step) * 3) % 5);
  };
  // Without synchronisation that is known, a constant may be a lag of the rank as well as one of
  // its clock.
  EXPECT_THAT(names_of(find_hidden_sync(job.run(), kCoordinates)), IsEmpty());
  EXPECT_THAT(names_of(find_hidden_sync(with_reductions(job.run()), kCoordinates)),
              ElementsAre(kBackward));
}

TEST(HiddenSync, IsNoneWhereALaneIsSlowerByAConstantAndNoneWaits) {
  Job job;
  job.slow = {1.0, 1.2, 1.0, 1.0};
  job.is_synchronised = [](std::int64_t, int) { return false; };
  EXPECT_THAT(names_of(find_hidden_sync(job.run(), kCoordinates)), IsEmpty());
}

TEST(HiddenSync, LeavesOutExecutionsThatDidNotSynchronise) {
  Job job;
  job.noise = 0.05;
  job.is_synchronised = [](std::int64_t step, int i) { return step != 4 || i != 2; };
  const HiddenSync hidden = find_hidden_sync(job.run(), kCoordinates);
  ASSERT_THAT(names_of(hidden), ElementsAre(kBackward));
  EXPECT_GE(hidden.instances.size(), 2u * kSteps * kOfStep - 2);
  EXPECT_LT(hidden.instances.size(), 2u * kSteps * kOfStep);
}

TEST(HiddenSync, NeedsMembersAndExecutions) {
  const RegionRun run = Job().run();
  EXPECT_FALSE(find_hidden_sync(run, {{"tp", {0, 0, 0, 0}}, {"pp", {0, 1, 2, 3}}}).is_there())
      << "groups of one";
  EXPECT_FALSE(find_hidden_sync(RegionRun{}, kCoordinates).is_there());
  RegionRun few = run;
  for (std::vector<Segment>& segments : few.processes) segments.resize(4);
  EXPECT_FALSE(find_hidden_sync(few, kCoordinates).is_there()) << "too few executions to tell";
}

}  // namespace
}  // namespace megascope::segments
