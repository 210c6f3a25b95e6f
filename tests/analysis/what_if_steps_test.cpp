#include "analysis/synth/synth.h"
#include "analysis/whatif/program_graph.h"
#include "analysis/whatif/what_if.h"

#include <gmock/gmock.h>

/// Which steps of a run are replayed.
namespace megascope::whatif {
namespace {

using testing::ElementsAre;

TEST(WhatIf, ReplaysSomeStepsOfALongRun) {
  synth::RunSpec spec;
  spec.pattern = synth::Pattern::kHalo;
  spec.steps = 100;
  const synth::SynthRun run(spec);
  const analysis::MatchTables tables(run);
  const WhatIf whole = what_if(run, tables);
  EXPECT_EQ(whole.steps.size(), 100u);
  EXPECT_TRUE(whole.limitations.empty());
  WhatIfOptions options;
  options.graph.max_operations = 20 * 2 * run.call_count() / 100;
  const WhatIf part = what_if(run, tables, options);
  EXPECT_EQ(part.steps.size(), 16u) << "eight stretches of two";
  EXPECT_EQ(part.steps.front(), 0);
  EXPECT_EQ(part.steps.back(), 99);
  ASSERT_EQ(part.limitations.size(), 1u);
  EXPECT_EQ(part.limitations.front(), "16 of 100 steps, from all over the run, were replayed");
  EXPECT_NEAR(part.step_ns / whole.step_ns, 1.0, 0.05);
  options.graph.max_operations = 2 * run.call_count() / 100 / 5;
  EXPECT_FALSE(what_if(run, tables, options).is_there()) << "a step is too long";
}

TEST(WhatIf, SaysNothingWhereSomeRanksHaveFarMoreSteps) {
  const auto plan = [](std::size_t one, std::size_t other) {
    return plan_steps(
        {{.begin_ns = 0, .ends_ns = std::vector<std::uint64_t>(one), .call_count = one},
         {.begin_ns = 0, .ends_ns = std::vector<std::uint64_t>(other), .call_count = other}},
        {});
  };
  EXPECT_EQ(plan(20, 10).is_kept.size(), 10u);
  EXPECT_TRUE(plan(20, 10).limitations.empty());
  for (const StepPlan& unlike : {plan(21, 10), plan(10, 21)}) {
    EXPECT_TRUE(unlike.steps[0].ends_ns.empty() && unlike.steps[1].ends_ns.empty());
    EXPECT_THAT(
        unlike.limitations,
        ElementsAre(
            "nothing was replayed: some ranks have more than twice as many steps as others"));
  }
}

/// A rank that was killed, or whose trace ends early, has the first of the steps that the program
/// annotated.
TEST(WhatIf, ReplaysAnnotatedStepsThatAllRanksHave) {
  const auto annotated = [](std::size_t count) {
    return detect::StepTimes{.begin_ns = 0,
                             .ends_ns = std::vector<std::uint64_t>(count),
                             .begins_ns = std::vector<std::uint64_t>(count),
                             .call_count = count};
  };
  const StepPlan plan = plan_steps({annotated(30), annotated(10)}, {});
  EXPECT_EQ(plan.is_kept.size(), 10u);
  EXPECT_TRUE(plan.limitations.empty());
}

}  // namespace
}  // namespace megascope::whatif
