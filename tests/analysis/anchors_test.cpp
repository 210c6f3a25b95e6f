#include "analysis/align/causality.h"
#include "analysis/align/clock_bounds.h"
#include "analysis/match/no_sink.h"
#include "analysis/synth/synth.h"
#include "core/record/merged_calls.h"

#include <gtest/gtest.h>

#include <cmath>

/// Clocks that were never compared, set by what the program's messages and collectives say of them.
/// The truth is the run itself.
namespace megascope::analysis {
namespace {

constexpr std::int32_t kRanksPerHost = 2;

synth::RunSpec training() {
  synth::RunSpec spec;
  spec.steps = 40;
  spec.ranks_per_host = kRanksPerHost;
  return spec;
}

/// The run as it looks through wrong clocks: host h's is off by offsets[h] and fast by rates[h].
class WrongClocks final : public RecordSource {
 public:
  struct Clock {
    double offset_ns = 0.0;
    double rate = 0.0;
  };
  WrongClocks(const RecordSource& truth, std::vector<Clock> hosts)
      : truth_(truth), hosts_(std::move(hosts)) {
    for (const std::int32_t rank : truth.world_ranks()) {
      processes_.push_back(truth.process(rank));
      processes_.back().info.clock.domain = "host " + std::to_string(rank / kRanksPerHost);
    }
  }
  std::int32_t world_size() const override { return truth_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return truth_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t rank) const override {
    return processes_[static_cast<std::size_t>(rank)];
  }
  std::unique_ptr<CallStream> calls(std::int32_t rank, LocationId location) const override {
    return std::make_unique<Stream>(truth_.calls(rank, location),
                                    hosts_[static_cast<std::size_t>(rank / kRanksPerHost)]);
  }
  std::int64_t start_realtime_ns() const override { return truth_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return shown(truth_.end_ns(), {kFarNs, 1e-3}); }

  static constexpr double kFarNs = 1e9;
  static std::uint64_t shown(std::uint64_t time_ns, const Clock& clock) {
    return static_cast<std::uint64_t>(kFarNs + clock.offset_ns +
                                      static_cast<double>(time_ns) * (1.0 + clock.rate));
  }

 private:
  class Stream final : public CallStream {
   public:
    Stream(std::unique_ptr<CallStream> truth, Clock clock)
        : truth_(std::move(truth)), clock_(clock) {}
    bool next(Call& call) override {
      if (!truth_->next(call)) return false;
      call.enter_ns = shown(call.enter_ns, clock_);
      call.leave_ns = shown(call.leave_ns, clock_);
      return true;
    }

   private:
    std::unique_ptr<CallStream> truth_;
    Clock clock_;
  };
  const RecordSource& truth_;
  std::vector<Clock> hosts_;
  std::vector<ProcessDefinitions> processes_;
};

/// How far two ranks' times are apart, compared with the truth, at the most: of all their calls.
double worst_error_ns(const RecordSource& truth, const RecordSource& seen, std::int32_t rank) {
  MergedCalls true_calls(truth, rank);
  MergedCalls seen_calls(seen, rank);
  MergedCalls true_first(truth, 0);
  MergedCalls seen_first(seen, 0);
  LocationId location = 0;
  const double zero_ns = static_cast<double>(seen_first.next(location)->enter_ns) -
                         static_cast<double>(true_first.next(location)->enter_ns);
  double worst_ns = 0.0;
  while (const Call* call = true_calls.next(location)) {
    const Call* other = seen_calls.next(location);
    worst_ns = std::max(worst_ns, std::fabs(static_cast<double>(other->enter_ns) -
                                            static_cast<double>(call->enter_ns) - zero_ns));
  }
  return worst_ns;
}

struct Set {
  Causality causality;
  std::uint64_t left = 0;
  std::vector<double> errors_ns;  ///< by rank, in truth, of the lines alone
};

Set set(const RecordSource& truth, const RecordSource& wrong,
        const std::vector<double>& measured_ns = {}) {
  const MatchTables tables(wrong);
  NoSink nothing;
  Set result{restore_causality(wrong, tables, match_run(wrong, tables, nothing, 2), measured_ns, 2),
             0,
             {}};
  const InOrder in_order(wrong, result.causality);
  result.left = match_run(in_order.source(), tables, nothing, 2).violation_count;
  const CorrectedSource anchored(wrong, result.causality.anchors.corrections);
  for (const std::int32_t rank : truth.world_ranks())
    result.errors_ns.push_back(worst_error_ns(truth, anchored, rank));
  return result;
}

TEST(Anchors, SetClocksThatWereNeverCompared) {
  const synth::SynthRun truth(training());
  const WrongClocks wrong(truth, {{0, 0}, {80e6, 100e-6}, {-300e6, -50e-6}, {5e3, 20e-6}});
  const Set found = set(truth, wrong);
  EXPECT_GT(found.causality.worst_before_ns, 1e8);
  EXPECT_EQ(found.left, 0U);
  for (std::size_t rank = 0; rank < found.errors_ns.size(); ++rank) {
    const double error_ns = found.causality.anchors.errors_ns[rank];
    EXPECT_GE(error_ns, 0.0) << rank;
    EXPECT_LE(found.errors_ns[rank], error_ns + 1e3)
        << rank << ": as wrong as it says at the most, and what a slope does to a step";
    EXPECT_LT(error_ns, 1.5e6) << rank << ": a message takes 0.4 ms";
  }
  EXPECT_LT(found.causality.max_moved_ns, 100'000U) << "little is left to move";
}

TEST(Anchors, LeaveClocksThatWereMeasured) {
  const synth::SynthRun truth(training());
  const WrongClocks wrong(truth, {{0, 0}, {80e6, 0}, {-300e6, 0}, {0, 0}});
  const Set found = set(truth, wrong, {50, 50, -1, -1, 60, 60, -1, -1});
  EXPECT_EQ(found.left, 0U);
  for (const std::size_t rank : {0U, 4U}) {
    const TimeCorrection& correction = found.causality.anchors.corrections[rank];
    EXPECT_EQ(correction.shift_ns(0), correction.shift_ns(2'000'000'000))
        << "all by the same, since nothing is moved to an earlier time";
    EXPECT_EQ(correction.shift_ns(0), found.causality.anchors.corrections[0].shift_ns(0));
  }
  EXPECT_EQ(found.causality.anchors.errors_ns[4], 60.0);
  const Set all = set(truth, wrong, std::vector<double>(8, 50.0));
  EXPECT_FALSE(all.causality.anchors.is_any());
  EXPECT_EQ(all.left, 0U) << "moved moment by moment";
}

TEST(Anchors, LeaveClocksThatContradictNothing) {
  const synth::SynthRun truth(training());
  const WrongClocks right(truth, {{0, 0}, {0, 0}, {0, 0}, {0, 0}});
  const MatchTables tables(right);
  const Anchors anchors = find_anchors(right, tables, {}, 2);
  EXPECT_FALSE(anchors.is_any());
  for (const double error_ns : anchors.errors_ns) {
    EXPECT_GE(error_ns, 0.0) << "that much is known";
    EXPECT_LT(error_ns, 3e6);
  }
}

TEST(Anchors, AreTheSameForAnyNumberOfThreads) {
  const synth::SynthRun truth(training());
  const WrongClocks wrong(truth, {{0, 0}, {80e6, 100e-6}, {-300e6, -50e-6}, {5e3, 20e-6}});
  const MatchTables tables(wrong);
  const Anchors one = find_anchors(wrong, tables, {}, 1);
  const Anchors five = find_anchors(wrong, tables, {}, 5);
  EXPECT_EQ(one.errors_ns, five.errors_ns);
  for (std::size_t i = 0; i < one.corrections.size(); ++i)
    EXPECT_EQ(one.corrections[i].shift_ns(1'500'000'000),
              five.corrections[i].shift_ns(1'500'000'000));
}

TEST(Anchors, ReportHowLittleOneMomentAnnotates) {
  // One barrier of 1 ms at 1 s of a run of 100 s; the clock is 10 ms off.
  ClockBounds bounds(100'000'000'000);
  bounds.add_min(1'001'000'000, 9.5e6);
  bounds.add_max(1'000'000'000, 10.5e6);
  const ClockLine line = bounds.nearest();
  ASSERT_TRUE(line.is_bounded);
  EXPECT_EQ(line.rate, 0.0) << "nothing was seen of it";
  EXPECT_NEAR(line.at(0.0), 9.5e6, 1.0);
  EXPECT_GE(line.error_ns, 99 * ClockBounds::kMaxRate * 1e9) << "at the end of the run";
}

TEST(Anchors, TakeTheMinRateThatTheBoundsLeave) {
  ClockBounds bounds(100'000'000'000);
  for (const std::uint64_t second : {1U, 99U}) {
    bounds.add_min(second * 1'000'000'000, -500e3);
    bounds.add_max(second * 1'000'000'000, 500e3);
  }
  bounds.add_min(50'000'000'000, 100e3);
  bounds.add_max(50'000'000'000, 110e3);
  const ClockLine line = bounds.middle();
  EXPECT_EQ(line.rate, 0.0);
  EXPECT_NEAR(line.at(0.0), 105e3, 1.0);
  EXPECT_GT(line.error_ns, 300e3);
}

TEST(Anchors, AreComposedAtTheMomentsThatClocksShow) {
  // Pipelines over hosts: neighbours exchange messages, no collective joins hosts 0 and 3. A second
  // off, at 100 ppm.
  synth::RunSpec spec = training();
  spec.tp = 2;
  spec.pp = 4;
  spec.dp = 1;
  const synth::SynthRun truth(spec);
  const WrongClocks wrong(truth, {{0, 0}, {900e6, 100e-6}, {-900e6, -100e-6}, {900e6, 50e-6}});
  const Set found = set(truth, wrong);
  for (std::size_t rank = 0; rank < found.errors_ns.size(); ++rank) {
    EXPECT_LE(found.errors_ns[rank], found.causality.anchors.errors_ns[rank] + 1e3) << rank;
  }
  EXPECT_EQ(found.left, 0U);
}

TEST(Anchors, MoveAClockNoFurtherThanItMust) {
  ClockBounds bounds(1'000'000);
  for (std::uint64_t time_ns = 0; time_ns < 1'000'000; time_ns += 10'000) {
    bounds.add_min(time_ns, 50.0);
    bounds.add_max(time_ns, 5'000.0);
  }
  const ClockLine line = bounds.nearest();
  ASSERT_TRUE(line.is_bounded);
  EXPECT_NEAR(line.at(0.0), 50.0, 20.0);
  EXPECT_GE(line.error_ns, 4'900.0) << "the truth may be at the other end";
}

TEST(Anchors, AskForBothDirections) {
  ClockBounds bounds(1'000'000);
  bounds.add_min(10, 500.0);
  EXPECT_FALSE(bounds.nearest().is_bounded);
}

}  // namespace
}  // namespace megascope::analysis
