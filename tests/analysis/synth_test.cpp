#include "analysis/synth/synth.h"

#include "analysis/synth/truth.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

/// Synthetic runs: what MPI promises holds in them, and what was asked for is in them.
namespace megascope::synth {
namespace {

RunSpec grid(Pattern pattern, std::int32_t tp, std::int32_t pp, std::int32_t dp,
             std::int32_t steps = 4) {
  RunSpec spec;
  spec.pattern = pattern;
  spec.tp = tp;
  spec.pp = pp;
  spec.dp = dp;
  spec.steps = steps;
  return spec;
}

/// Every message: sent before it is received, and received as often as sent. Every reduction: left
/// after its last member came.
void expect_blocking_semantics(const SynthRun& run) {
  struct Message {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, int>, Message> messages;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, int> sent_count;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, int> received_count;
  struct Reduction {
    std::uint64_t last_enter = 0;
    std::uint64_t first_leave = UINT64_MAX;
    std::int64_t members = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, Reduction> reductions;
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessDefinitions& process = run.process(rank);
    const auto calls = run.calls(rank, 0);
    std::uint64_t last_leave = 0;
    for (Call call; calls->next(call);) {
      ASSERT_GE(call.enter_ns, last_leave);
      ASSERT_GE(call.leave_ns, call.enter_ns);
      last_leave = call.leave_ns;
      for (const Fact& fact : call.facts) {
        if (fact.kind == FactKind::kCollective) {
          Reduction& reduction = reductions[{process.comm(fact.comm)->global_name, fact.sequence}];
          reduction.last_enter = std::max(reduction.last_enter, call.enter_ns);
          reduction.first_leave = std::min(reduction.first_leave, call.leave_ns);
          ++reduction.members;
          continue;
        }
        if (fact.comm == kNoComm) continue;
        const std::int32_t peer = expand(
            process.comm(fact.comm)->members)[static_cast<std::size_t>(fact.peer)];
        if (fact.kind == FactKind::kSend || fact.kind == FactKind::kSendRequest) {
          messages[{rank, peer, fact.tag, sent_count[{rank, peer, fact.tag}]++}]
              .sent = call.enter_ns;
        } else if (fact.kind != FactKind::kRecvRequest) {
          messages[{peer, rank, fact.tag, received_count[{peer, rank, fact.tag}]++}]
              .received = call.leave_ns;
        }
      }
    }
  }
  EXPECT_EQ(sent_count, received_count);
  for (const auto& [key, message] : messages) ASSERT_LT(message.sent, message.received);
  for (const auto& [key, reduction] : reductions)
    ASSERT_LE(reduction.last_enter, reduction.first_leave);
}

TEST(Synth, RunsOfEveryKindKeepWhatMpiPromises) {
  for (const RunSpec& spec : {grid(Pattern::k1F1B, 2, 4, 2), grid(Pattern::kInterleaved, 2, 4, 2),
                              grid(Pattern::k1F1B, 1, 8, 1), grid(Pattern::kInterleaved, 1, 2, 1),
                              grid(Pattern::k1F1B, 4, 1, 4), grid(Pattern::kHalo, 1, 1, 1)}) {
    ASSERT_TRUE(check(spec).is_ok());
    expect_blocking_semantics(SynthRun(spec));
  }
  RunSpec narrow = grid(Pattern::kHalo, 1, 1, 1);
  for (const auto& [x, y] :
       {std::pair(2, 1), std::pair(1, 2), std::pair(2, 2), std::pair(3, 2), std::pair(1, 5)}) {
    narrow.grid_x = x;
    narrow.grid_y = y;
    expect_blocking_semantics(SynthRun(narrow));
  }
}

TEST(Synth, EveryStepEndsOnEveryRank) {
  const RunSpec spec = grid(Pattern::kInterleaved, 2, 2, 2, 6);
  const SynthRun run(spec);
  for (const std::int32_t rank : run.world_ranks()) {
    const auto calls = run.calls(rank, 0);
    int norms = 0;
    RegionId last = kNoRegion;
    for (Call call; calls->next(call);) {
      for (const Fact& fact : call.facts)
        norms += fact.kind == FactKind::kCollective &&
                 run.process(rank).comm(fact.comm)->name == "model";
      last = call.region;
    }
    EXPECT_EQ(norms, 6);
    EXPECT_EQ(last, kFinalize);
  }
}

std::uint64_t end_of(const RunSpec& spec) { return SynthRun(spec).end_ns(); }

TEST(Synth, TheSameSeedIsTheSameRunAndAnotherIsNot) {
  RunSpec spec = grid(Pattern::k1F1B, 2, 2, 2);
  const std::uint64_t once = end_of(spec);
  EXPECT_EQ(once, end_of(spec));
  spec.seed = 2;
  EXPECT_NE(once, end_of(spec));
}

TEST(Synth, ASlowRankMakesAllWait) {
  RunSpec spec = grid(Pattern::k1F1B, 2, 2, 2, 10);
  spec.noise.sigma = 0.0;
  const auto healthy = static_cast<double>(end_of(spec));
  spec.faults = {{.kind = FaultKind::kSlowCompute, .where = 5, .severity = 0.5}};
  const auto slowed = static_cast<double>(end_of(spec));
  EXPECT_GT(slowed / healthy, 1.3);
  EXPECT_LT(slowed / healthy, 1.5);
}

TEST(Synth, TheTruthNamesRanksHostsAndSteps) {
  RunSpec spec = grid(Pattern::k1F1B, 2, 2, 2, 20);
  spec.ranks_per_host = 2;
  spec.faults = {
      {.kind = FaultKind::kStageImbalance, .where = 1},
      {.kind = FaultKind::kSlowHost, .where = 1, .onset = 5, .period = 3, .severity = 0.2}};
  const std::vector<TrueRootCause> truth = truth_of(spec);
  ASSERT_EQ(truth.size(), 2u);
  EXPECT_THAT(truth[0].ranks, testing::ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(truth[0].groups.at("pp"), 1);
  EXPECT_THAT(truth[1].ranks, testing::ElementsAre(2, 3));
  EXPECT_THAT(truth[1].hosts, testing::ElementsAre("n1"));
  EXPECT_EQ(truth[1].onset_step, 5);
  EXPECT_EQ(truth[1].last_step, 17);
  EXPECT_DOUBLE_EQ(truth[1].factor, 1.2);
}

TEST(Synth, WhatCannotBeMadeIsNamed) {
  EXPECT_THAT(check(grid(Pattern::k1F1B, 64, 8, 8)).message(), testing::HasSubstr("1024"));
  RunSpec spec = grid(Pattern::kInterleaved, 1, 4, 1);
  spec.micro_batches = 6;
  EXPECT_THAT(check(spec).message(), testing::HasSubstr("multiple of pp"));
  spec = grid(Pattern::k1F1B, 1, 2, 1);
  spec.faults = {{.kind = FaultKind::kStageImbalance, .where = 2}};
  EXPECT_FALSE(check(spec).is_ok());
}

}  // namespace
}  // namespace megascope::synth
