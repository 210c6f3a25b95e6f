// Causes that claim the same lost time, and those that come in addition to each other.
#include "plugin/answer/one_claim.h"

#include "plugin/answer/answer.h"

#include <gmock/gmock.h>

#include <numeric>

namespace megascope::answer {
namespace {

using detect::Cause;
using detect::RootCause;
using testing::ElementsAre;
using testing::IsEmpty;

/// Slow in the steps 0 to 9.
RootCause root_cause(Cause cause, std::vector<std::int32_t> ranks, double cost_fraction) {
  RootCause one;
  one.cause = cause;
  one.ranks = std::move(ranks);
  one.factor = 1.25;
  one.last_step = 9;
  one.active_steps = 10;
  one.steps.resize(10);
  std::iota(one.steps.begin(), one.steps.end(), std::int64_t{0});
  one.cost_fraction = cost_fraction;
  one.evidence.peer_count = 3;
  return one;
}

RootCause at(RootCause one, std::int32_t first, std::int32_t last) {
  one.onset_step = first;
  one.last_step = last;
  one.active_steps = last - first + 1;
  one.steps.resize(static_cast<std::size_t>(one.active_steps));
  std::iota(one.steps.begin(), one.steps.end(), std::int64_t{first});
  return one;
}

std::vector<RootCause> claimed(std::vector<RootCause> root_causes) {
  make_one_claim_each(root_causes);
  return root_causes;
}

TEST(OneClaim, ARankOfASlowStageIsReportedToBeSlowInAdditionToTheStage) {
  RootCause stage = root_cause(Cause::kStageImbalance, {4, 5, 6, 7}, 0.2);
  stage.groups["pp"] = 1;
  for (const bool is_first : {true, false}) {
    const auto annotated = claimed(
        {stage, root_cause(Cause::kSlowCompute, {5}, is_first ? 0.3 : 0.1)});
    ASSERT_EQ(annotated.size(), 2U);
    const RootCause& rank = annotated[is_first ? 0 : 1];
    EXPECT_EQ(rank.within.cause, Cause::kStageImbalance);
    EXPECT_THAT(rank.within.ranks, ElementsAre(4, 5, 6, 7));
    EXPECT_EQ(root_cause_title(rank),
              "Rank 5 computes 1.25 times as long as the other ranks of pipeline stage 1, in "
              "addition to the extra work of pipeline stage 1");
  }
}

TEST(OneClaim, ARankOfASlowHostStaysComparedWithItInASlowStage) {
  RootCause stage = root_cause(Cause::kStageImbalance, {0, 1, 2, 3, 4, 5, 6, 7}, 0.2);
  RootCause rank = root_cause(Cause::kSlowCompute, {6}, 0.1);
  rank.within = {Cause::kSlowHost, {4, 5, 6, 7}, -1};
  auto annotated = claimed({stage, root_cause(Cause::kSlowHost, {4, 5, 6, 7}, 0.15), rank});
  ASSERT_EQ(annotated.size(), 3U);
  EXPECT_EQ(annotated[2].within.cause, Cause::kSlowHost);
  EXPECT_THAT(annotated[2].within.ranks, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(root_cause_title(annotated[2]),
            "Rank 6 computes 1.25 times as long as the other ranks of its host, in addition to "
            "the slowness of its host");
  annotated.erase(annotated.begin() + 1);
  drop_absent_wholes(annotated);
  EXPECT_FALSE(annotated[1].within.is_there());
}

TEST(OneClaim, OfGroupsThatWereInferredTheWordsAreRanks) {
  RootCause some = root_cause(Cause::kStageImbalance, {4, 5, 6, 7}, 0.2);
  some.has_specified_groups = false;
  RootCause rank = root_cause(Cause::kSlowCompute, {5}, 0.1);
  rank.has_specified_groups = false;
  const auto annotated = claimed({some, rank});
  ASSERT_EQ(annotated.size(), 2U);
  EXPECT_EQ(root_cause_title(annotated[1]),
            "Rank 5 computes 1.25 times as long as the others of ranks 4-7, in addition to "
            "the extra work of ranks 4-7");
}

TEST(OneClaim, ARankThatIsComparedWithOthersThanItsStageClaimsTheSameTime) {
  RootCause rank = root_cause(Cause::kSlowCompute, {5}, 0.1);
  rank.evidence.peer_count = 7;
  const auto annotated = claimed({rank, root_cause(Cause::kStageImbalance, {4, 5, 6, 7}, 0.2)});
  ASSERT_EQ(annotated.size(), 1U);
  EXPECT_EQ(annotated[0].cause, Cause::kStageImbalance);
}

TEST(OneClaim, ARankThatIsMuchSlowerThanVaryingReplicasIsReportedToBeThatInAddition) {
  const auto annotated = claimed({root_cause(Cause::kInputImbalance, {0, 1, 2, 3, 4, 5}, 0.2),
                                  root_cause(Cause::kSlowCompute, {5}, 0.1)});
  ASSERT_EQ(annotated.size(), 2U);
  EXPECT_EQ(root_cause_title(annotated[1]),
            "Rank 5 computes 1.25 times as long as its 3 peers, in addition to the work that "
            "differs between replicas");
}

TEST(OneClaim, RanksThatAreNotKnownToBeReplicasAreCalledRanks) {
  RootCause some = root_cause(Cause::kInputImbalance, {0, 1, 2, 3, 4, 5}, 0.2);
  RootCause rank = root_cause(Cause::kSlowCompute, {5}, 0.1);
  some.has_specified_groups = rank.has_specified_groups = false;
  const auto annotated = claimed({some, rank});
  ASSERT_EQ(annotated.size(), 2U);
  EXPECT_EQ(root_cause_title(annotated[1]),
            "Rank 5 computes 1.25 times as long as its 3 peers, in addition to the work that "
            "differs between ranks 0-5");
}

TEST(OneClaim, PausesOfARankAreOneCauseWithTheStepsOfBoth) {
  const auto annotated = claimed({at(root_cause(Cause::kHostStall, {3}, 0.1), 2, 6),
                                  at(root_cause(Cause::kBlocked, {3}, 0.3), 4, 9)});
  ASSERT_EQ(annotated.size(), 1U);
  EXPECT_EQ(annotated[0].cause, Cause::kBlocked);
  EXPECT_EQ(annotated[0].onset_step, 2);
  EXPECT_EQ(annotated[0].last_step, 9);
  EXPECT_EQ(annotated[0].active_steps, 8);
  EXPECT_THAT(annotated[0].steps, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(OneClaim, OtherTimesOtherRanksAndPausesBesideWorkStayTwoCauses) {
  const RootCause rank = root_cause(Cause::kSlowCompute, {3}, 0.1);
  EXPECT_EQ(claimed({at(rank, 0, 4), at(rank, 5, 9)}).size(), 2U);
  EXPECT_EQ(claimed({rank, root_cause(Cause::kSlowCompute, {4}, 0.1)}).size(), 2U);
  EXPECT_EQ(claimed({rank, root_cause(Cause::kHostStall, {3}, 0.1)}).size(), 2U);
  EXPECT_EQ(claimed({rank, root_cause(Cause::kSlowLink, {3, 4}, 0.1)}).size(), 2U);
  EXPECT_EQ(claimed({root_cause(Cause::kStageImbalance, {1, 3}, 0.1),
                     root_cause(Cause::kInputImbalance, {0, 1}, 0.1)})
                .size(),
            2U)
      << "a stage and a replica cross";
  for (const RootCause& one : claimed({rank, root_cause(Cause::kHostStall, {3}, 0.1)}))
    EXPECT_THAT(one.within.ranks, IsEmpty());
}

TEST(OneClaim, WhatIsNoLongerReportedIsComparedWithByNone) {
  auto annotated = claimed({root_cause(Cause::kStageImbalance, {4, 5, 6, 7}, 0.2),
                            root_cause(Cause::kSlowCompute, {5}, 0.1)});
  drop_absent_wholes(annotated);
  EXPECT_TRUE(annotated[1].within.is_there());
  annotated.erase(annotated.begin());
  drop_absent_wholes(annotated);
  EXPECT_FALSE(annotated[0].within.is_there());
  EXPECT_EQ(root_cause_title(annotated[0]), "Rank 5 computes 1.25 times as long as its 3 peers");
}

TEST(OneClaim, TheGainOfWhatIsBlockedInCallsIsThatOfItsCost) {
  whatif::Scenario scenario;
  scenario.gain = scenario.alone = 1.01;
  scenario.cost = 0.2;
  raise_gain_to_cost(scenario);
  EXPECT_DOUBLE_EQ(scenario.gain, 1.25);  // 1 / (1 - 0.2)
  EXPECT_DOUBLE_EQ(scenario.alone, 1.25);
  scenario.gain = 1.5;  // the replay shows more than the share that it was given
  scenario.alone = 1.6;
  raise_gain_to_cost(scenario);
  EXPECT_DOUBLE_EQ(scenario.gain, 1.5);
  EXPECT_DOUBLE_EQ(scenario.alone, 1.6);
}

}  // namespace
}  // namespace megascope::answer
