#include "analysis/detect/annotated_steps.h"

#include "analysis/common/parallel_groups.h"
#include "analysis/detect/detect.h"
#include "analysis/detect/step_finder.h"
#include "analysis/match/match.h"
#include "analysis/synth/synth.h"
#include "analysis/whatif/what_if.h"
#include "core/record/memory_source.h"
#include "core/record/message_order.h"
#include "core/record/user_regions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

/// The same run with and without hooks: what MPI did is the same to everybody who asks for it, and
/// the annotated steps are those that it is judged by.
namespace megascope::detect {
namespace {

using synth::FaultKind;
using synth::RunSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr RegionId kStep = kFirstProgramRegion;
constexpr RegionId kLayer = kFirstProgramRegion + 1;

RunSpec spec_of(std::vector<synth::Fault> faults = {}) {
  RunSpec spec;
  spec.tp = 2;
  spec.pp = 2;
  spec.dp = 2;
  spec.layers = 2;
  spec.faults = std::move(faults);
  return spec;
}

struct Annotated {
  std::int64_t number = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};
/// What a rank annotates.
using Annotate = std::function<std::vector<Annotated>(std::int32_t rank,
                                                      std::vector<Annotated> all)>;

RegionDefinition region(RegionId id, const std::string& name) {
  return {.id = id,
          .name = name,
          .role = RegionRole::kCode,
          .paradigm = Paradigm::kUser,
          .collective_op = CollectiveOp::kNone,
          .group = ""};
}

/// The run, with its steps told (by number 10, 20 …) as `tell` changes them, and a region around
/// every fourth call.
MemorySource with_hooks(const RecordSource& run, const Annotate& annotate) {
  MemorySource annotated(run.world_size());
  const std::vector<StepTimes> all_steps = find_step_times(run, 1);
  std::size_t index = 0;
  for (const std::int32_t rank : run.world_ranks()) {
    MemorySource::Process process{run.process(rank), {}};
    process.definitions.regions.push_back(region(kStep, std::string(kStepRegionName)));
    process.definitions.regions.push_back(region(kLayer, "layer"));
    const StepTimes& steps = all_steps[index++];
    std::vector<Annotated> all;
    for (std::size_t i = 0; i < steps.ends_ns.size(); ++i)
      all.push_back({std::int64_t(10 * (i + 1)), steps.begin_of(i), steps.ends_ns[i]});
    auto& calls = process.locations.emplace_back();
    const auto stream = run.calls(rank, 0);
    std::size_t number = 0;
    for (Call call; stream->next(call);) {
      if (number++ % 4 == 0)
        calls.push_back(
            {{.enter_ns = call.enter_ns, .leave_ns = call.leave_ns, .region = kLayer, .facts = {}},
             {},
             {}});
      calls.push_back(
          {call, {call.facts.begin(), call.facts.end()}, {call.posted.begin(), call.posted.end()}});
    }
    for (const Annotated& step : annotate(rank, all)) {
      calls.push_back(
          {{.enter_ns = step.begin_ns, .leave_ns = step.end_ns, .region = kStep, .facts = {}},
           {value_fact(ValueName::kStep, step.number)},
           {}});
    }
    std::ranges::stable_sort(
        calls, [](const MemorySource::OwnedCall& a, const MemorySource::OwnedCall& b) {
          if (a.call.enter_ns != b.call.enter_ns) return a.call.enter_ns < b.call.enter_ns;
          return a.call.leave_ns > b.call.leave_ns;
        });
    annotated.add(std::move(process));
  }
  return annotated;
}

std::vector<Annotated> as_they_are(std::int32_t, std::vector<Annotated> all) { return all; }

/// Counts what matching finds.
class Counting final : public analysis::MatchSink {
 public:
  void begin(std::size_t) override {}
  void end_window() override {}
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override { ++stops; }
  void add_message(std::size_t, const analysis::MessageEnd&, const analysis::MessageEnd&) override {
    ++messages;
  }
  void add_collective(std::size_t, const analysis::Collective&) override { ++collectives; }
  std::size_t stops = 0, messages = 0, collectives = 0;
};

std::vector<std::vector<std::uint64_t>> flows_of(const RecordSource& run) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const std::int32_t rank : run.world_ranks()) {
    const MessageOrder order = MessageOrder::of(run, rank);
    all.emplace_back(order.flow_ids(0).begin(), order.flow_ids(0).end());
  }
  return all;
}

TEST(WithHooks, MpiIsTheSameToEverybody) {
  const synth::SynthRun bare(
      spec_of({{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.2}}));
  const MemorySource annotated = with_hooks(bare, as_they_are);
  Counting of_bare;
  Counting of_annotated;
  const analysis::Matching a = analysis::match_run(bare, analysis::MatchTables(bare), of_bare, 1);
  const analysis::Matching b = analysis::match_run(annotated, analysis::MatchTables(annotated),
                                                   of_annotated, 1);
  EXPECT_EQ(a.call_count, b.call_count);
  EXPECT_EQ(std::tuple(of_bare.stops, of_bare.messages, of_bare.collectives),
            std::tuple(of_annotated.stops, of_annotated.messages, of_annotated.collectives));
  ASSERT_EQ(a.tracks.size(), b.tracks.size());
  for (std::size_t i = 0; i < a.tracks.size(); ++i) {
    EXPECT_EQ(std::tuple(a.tracks[i].call_count, a.tracks[i].mpi_ns, a.tracks[i].first_ns,
                         a.tracks[i].last_ns),
              std::tuple(b.tracks[i].call_count, b.tracks[i].mpi_ns, b.tracks[i].first_ns,
                         b.tracks[i].last_ns));
  }
  EXPECT_EQ(flows_of(bare), flows_of(annotated));
  const auto ends_of = [](const RecordSource& run) {
    std::vector<std::vector<std::uint64_t>> ends;
    for (const StepTimes& steps : find_step_times(run, 1)) ends.push_back(steps.ends_ns);
    return ends;
  };
  EXPECT_EQ(ends_of(bare), ends_of(annotated));
  const Detection without = detect(bare);
  const Detection with = detect(annotated);
  ASSERT_EQ(without.root_causes.size(), 1u);
  ASSERT_EQ(with.root_causes.size(), 1u);
  EXPECT_EQ(without.root_causes[0].ranks, with.root_causes[0].ranks);
  EXPECT_EQ(without.root_causes[0].factor, with.root_causes[0].factor);
  EXPECT_EQ(without.limitations, with.limitations);
}

TEST(AnnotatedSteps, AreTheProgramsOwn) {
  const synth::SynthRun bare(
      spec_of({{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.2}}));
  const MemorySource run = with_hooks(bare, as_they_are);
  const AnnotatedSteps annotated = annotated_steps(run);
  ASSERT_EQ(annotated.numbers.size(), 20u);
  EXPECT_EQ(annotated.numbers[0], 10);
  EXPECT_EQ(annotated.numbers[19], 200);
  EXPECT_THAT(annotated.limitations, IsEmpty());
  const Options options{.steps = &annotated.marks};
  const Detection detection = detect(run, options);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_THAT(detection.root_causes[0].ranks, ElementsAre(5));
  EXPECT_EQ(annotated.numbers[static_cast<std::size_t>(detection.root_causes[0].onset_step)], 70);
  EXPECT_NEAR(detection.root_causes[0].factor, 1.2, 0.02);
  EXPECT_EQ(detection.step_count, 20);
}

TEST(AnnotatedSteps, WhatIsBetweenThemIsNobodysWork) {
  // Rank 3 pauses before each step, where it saves its state: 5 times as long as a step.
  const synth::SynthRun bare(spec_of());
  const auto only_every_second = [](std::int32_t, std::vector<Annotated> all) {
    std::vector<Annotated> kept;
    for (std::size_t i = 1; i < all.size(); i += 2) kept.push_back(all[i]);
    return kept;
  };
  const MemorySource run = with_hooks(bare, only_every_second);
  const AnnotatedSteps annotated = annotated_steps(run);
  EXPECT_EQ(annotated.numbers.size(), 10u);
  const Options options{.steps = &annotated.marks};
  const Detection detection = detect(run, options);
  EXPECT_EQ(detection.step_count, 10);
  EXPECT_THAT(detection.root_causes, IsEmpty());
}

TEST(AnnotatedSteps, NeedAllRanks) {
  const synth::SynthRun bare(spec_of());
  const auto without_two = [](std::int32_t rank, std::vector<Annotated> all) {
    return rank == 2 || rank == 7 ? std::vector<Annotated>{} : all;
  };
  const AnnotatedSteps annotated = annotated_steps(with_hooks(bare, without_two));
  EXPECT_FALSE(annotated.is_there());
  EXPECT_THAT(annotated.limitations, ElementsAre(HasSubstr("ranks 2, 7 annotate none")));
}

TEST(AnnotatedSteps, AreThoseThatAllHave) {
  const synth::SynthRun bare(spec_of());
  const auto shorter = [](std::int32_t rank, std::vector<Annotated> all) {
    if (rank == 4) all.resize(13);
    if (rank == 1) all.erase(all.begin());
    return all;
  };
  const AnnotatedSteps annotated = annotated_steps(with_hooks(bare, shorter));
  ASSERT_EQ(annotated.numbers.size(), 12u);
  EXPECT_EQ(annotated.numbers.front(), 20);
  EXPECT_THAT(
      annotated.limitations,
      ElementsAre(HasSubstr("of up to 20 steps that a rank annotates, 12 are annotated by all")));
}

TEST(AnnotatedSteps, MayCountAnewAndBackwards) {
  const synth::SynthRun bare(spec_of());
  const auto epochs = [](std::int32_t, std::vector<Annotated> all) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<std::int64_t>(i % 10);
    return all;
  };
  EXPECT_EQ(annotated_steps(with_hooks(bare, epochs)).numbers.size(), 20u);
  const auto one_is_different = [](std::int32_t rank, std::vector<Annotated> all) {
    if (rank == 3) std::swap(all[4].number, all[5].number);
    return all;
  };
  const AnnotatedSteps annotated = annotated_steps(with_hooks(bare, one_is_different));
  EXPECT_FALSE(annotated.is_there());
  EXPECT_THAT(annotated.limitations, ElementsAre(HasSubstr("different orders")));
}

TEST(AnnotatedSteps, NoneAnnotatesAny) {
  const synth::SynthRun bare(spec_of());
  EXPECT_FALSE(annotated_steps(bare).is_there());
  EXPECT_THAT(annotated_steps(bare).limitations, IsEmpty());
}

TEST(AnnotatedSteps, AreReplayedUnderTheirNumbers) {
  const synth::SynthRun bare(spec_of());
  const MemorySource run = with_hooks(bare, as_they_are);
  const AnnotatedSteps annotated = annotated_steps(run);
  const analysis::MatchTables tables(run);
  whatif::WhatIfOptions options;
  options.graph.annotated = &annotated;
  const whatif::WhatIf replayed = whatif::what_if(run, tables, options);
  const whatif::WhatIf found = whatif::what_if(bare, analysis::MatchTables(bare));
  EXPECT_EQ(replayed.steps, annotated.numbers);
  ASSERT_TRUE(found.is_there());
  EXPECT_NEAR(replayed.step_ns, found.step_ns, 0.02 * found.step_ns) << "they are the same steps";
}

MemorySource places(const std::vector<std::vector<ParallelIndex>>& of_rank) {
  MemorySource run(static_cast<std::int32_t>(of_rank.size()));
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    MemorySource::Process process;
    process.definitions.info.world_rank = static_cast<std::int32_t>(rank);
    process.definitions.info.parallel = of_rank[rank];
    run.add(std::move(process));
  }
  return run;
}

TEST(ParallelGroups, AreThoseThatRanksAgreeOn) {
  const auto groups = analysis::parallel_groups(
      places({{{"tp", 0, 2}, {"pp", 0, 2}, {"dp", 0, 1}},
              {{"tp", 1, 2}, {"pp", 0, 2}, {"dp", 0, 1}},
              {{"tp", 0, 2}, {"pp", 1, 2}, {"dp", 0, 1}},
              {{"tp", 1, 2}, {"pp", 1, 2}, {"dp", 0, 1}}}));
  EXPECT_THAT(groups.problems, IsEmpty());
  ASSERT_EQ(groups.indices.size(), 2u);
  EXPECT_THAT(groups.indices.at("tp"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(groups.indices.at("pp"), ElementsAre(0, 0, 1, 1));
}

TEST(ParallelGroups, WhatCannotBeIsNamed) {
  const auto sizes = analysis::parallel_groups(places({{{"tp", 0, 2}}, {{"tp", 1, 4}}}));
  EXPECT_THAT(sizes.problems,
              ElementsAre(HasSubstr(
                  "tp is ignored: ranks specify different sizes of it, 2 (rank 0), 4 (rank 1)")));
  const auto some = analysis::parallel_groups(places({{{"tp", 0, 2}}, {}}));
  EXPECT_THAT(some.problems, ElementsAre(HasSubstr("1 of 2 ranks specify their coordinate")));
  const auto product = analysis::parallel_groups(places({{{"tp", 0, 3}}, {{"tp", 1, 3}}}));
  EXPECT_THAT(product.problems, ElementsAre(HasSubstr("tp 3 does not divide 2 ranks evenly")));
  const auto twice = analysis::parallel_groups(places({{{"tp", 0, 2}}, {{"tp", 0, 2}}}));
  EXPECT_THAT(twice.problems, ElementsAre(HasSubstr("does not divide")));
  for (const auto& groups : {sizes, some, product, twice}) EXPECT_THAT(groups.indices, IsEmpty());
}

}  // namespace
}  // namespace megascope::detect
