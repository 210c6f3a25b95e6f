// The orders of work: by hand where small, and played against each other where not.
#include "examples/gpt/schedule.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <tuple>

namespace gpt {
namespace {

using enum Action::Kind;
using testing::ElementsAre;

Action forward(int micro_batch, int chunk = 0) { return {kForward, micro_batch, chunk}; }
Action backward(int micro_batch, int chunk = 0) { return {kBackward, micro_batch, chunk}; }

struct NothingIsHere : Inbox {
  bool has_input_for(const Action&) override { return false; }
};

std::vector<Action> all_of(const std::string& name, const StageWork& work) {
  NothingIsHere inbox;
  const auto scheduler = make_scheduler(name, work);
  std::vector<Action> actions;
  while (const auto action = scheduler->next(inbox)) actions.push_back(*action);
  return actions;
}

TEST(OneForwardOneBackward, FirstOfTwoStagesIsOneAhead) {
  EXPECT_THAT(
      one_forward_one_backward({.stage = 0, .stages = 2, .micro_batches = 3}),
      ElementsAre(forward(0), forward(1), backward(0), forward(2), backward(1), backward(2)));
}

TEST(OneForwardOneBackward, LastStageTurnsAtOnce) {
  EXPECT_THAT(one_forward_one_backward({.stage = 1, .stages = 2, .micro_batches = 2}),
              ElementsAre(forward(0), backward(0), forward(1), backward(1)));
}

TEST(OneForwardOneBackward, ManyStagesAndOneMicroBatch) {
  EXPECT_THAT(one_forward_one_backward({.stage = 0, .stages = 8, .micro_batches = 1}),
              ElementsAre(forward(0), backward(0)));
}

TEST(Interleaved, LastOfTwoStagesWithTwoChunks) {
  EXPECT_THAT(interleaved({.stage = 1, .stages = 2, .micro_batches = 2, .chunks = 2}),
              ElementsAre(forward(0, 0), forward(1, 0), forward(0, 1), backward(0, 1),
                          forward(1, 1), backward(1, 1), backward(0, 0), backward(1, 0)));
}

/// All stages take their turns, each as far as what it needs is there. Returns the actions done, in
/// the order of a run.
std::vector<std::pair<int, Action>> play(const std::string& name, int stages, int micro_batches,
                                         int chunks) {
  std::vector<std::vector<Action>> left;
  for (int stage = 0; stage < stages; ++stage)
    left.push_back(all_of(name, {stage, stages, micro_batches, chunks}));
  std::vector<std::size_t> position(left.size());
  std::set<std::tuple<Action::Kind, int, int>> done;  // kind, micro-batch, chunk of the model
  std::vector<std::pair<int, Action>> run;
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < stages; ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      if (position[s] == left[s].size()) continue;
      const Action action = left[s][position[s]];
      const int chunk = action.chunk * stages + stage;
      const int last = stages * chunks - 1;
      const bool has_input = action.kind == kForward
                                 ? chunk == 0 ||
                                       done.contains({kForward, action.micro_batch, chunk - 1})
                                 : done.contains({kForward, action.micro_batch, chunk}) &&
                                       (chunk == last ||
                                        done.contains({kBackward, action.micro_batch, chunk + 1}));
      if (!has_input) continue;
      EXPECT_TRUE(done.insert({action.kind, action.micro_batch, chunk}).second) << "twice";
      run.emplace_back(stage, action);
      ++position[s];
      moved = true;
    }
  }
  return run;
}

int max_in_flight(const std::vector<std::pair<int, Action>>& run, int stage) {
  int now = 0;
  int most = 0;
  for (const auto& [where, action] : run) {
    if (where == stage) now += action.kind == kForward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

TEST(Schedules, EveryActionIsDoneOnceAndNoneWaitsForever) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int micro_batches = 1; micro_batches <= 17; ++micro_batches) {
      EXPECT_EQ(play("1f1b", stages, micro_batches, 1).size(),
                static_cast<std::size_t>(2 * stages * micro_batches));
      for (int chunks = 1; chunks <= 4 && micro_batches % stages == 0; ++chunks)
        EXPECT_EQ(play("interleaved", stages, micro_batches, chunks).size(),
                  static_cast<std::size_t>(2 * stages * micro_batches * chunks));
    }
  }
}

TEST(Schedules, OneForwardOneBackwardKeepsAsManyMicroBatchesAsStagesFollow) {
  const auto run = play("1f1b", 4, 16, 1);
  for (int stage = 0; stage < 4; ++stage) EXPECT_EQ(max_in_flight(run, stage), 4 - stage);
}

}  // namespace
}  // namespace gpt
