#include "core/clocks/run_time.h"

#include "core/base/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <span>

namespace megascope {
namespace {

ClockDomain domain(std::uint64_t id, std::int32_t rank, std::uint64_t start, ClockPoint first,
                   ClockPoint last, std::vector<ClockSample> samples = {}) {
  return {.id = id,
          .lowest_rank = rank,
          .kind = ClockKind::kTsc,
          .start_ticks = start,
          .first = first,
          .last = last,
          .samples = std::move(samples)};
}
/// Two ticks a ns, from 10000 at 5 ms.
ClockDomain reference() {
  return domain(1, 0, 10'000, {10'000, 0, 5'000'000}, {30'000, 10'000, 5'010'000});
}

TEST(RunTime, GivesProcessesOfOneDomainOneLine) {
  // The second process starts 2000 ticks later and measured its own moments.
  const std::vector<ClockDomain> domains = one_a_domain(
      {domain(1, 1, 12'000, {12'000, 1'003, 5'001'007}, {20'000, 5'000, 5'005'000}), reference()});
  ASSERT_EQ(domains.size(), 1u);
  const RunTime time = run_time_of(domains);
  EXPECT_EQ(time.start_realtime_ns, 5'000'000);
  EXPECT_EQ(time.domains.at(1).map.to_ns(12'000), 1000u);
}

TEST(RunTime, PlacesUnmeasuredDomainsByTheClockOnTheWall) {
  // The second node counts one tick a ns from another zero, and starts 300 ns after the first by
  // the wall clock.
  const RunTime time = run_time_of(
      {reference(), domain(2, 1, 700, {700, 0, 5'000'300}, {1'700, 1'000, 5'001'300})});
  EXPECT_EQ(time.start_realtime_ns, 5'000'000);
  EXPECT_EQ(time.domains.at(2).map.to_ns(700), 300u);
  EXPECT_EQ(time.domains.at(2).map.to_ns(1'700), 1'300u);
  EXPECT_TRUE(time.domains.at(1).is_measured);
  EXPECT_FALSE(time.domains.at(2).is_measured);
}

TEST(RunTime, BeginsWithTheEarliestProcess) {
  // Recording began 400 ticks (200 ns) before the moment that was measured.
  ClockDomain early = reference();
  early.start_ticks = 9'600;
  const RunTime time = run_time_of({early});
  EXPECT_EQ(time.start_realtime_ns, 4'999'800);
  EXPECT_EQ(time.domains.at(1).map.to_ns(9'600), 0u);
  EXPECT_EQ(time.domains.at(1).map.to_ns(10'000), 200u);
}

TEST(RunTime, TakesATickForANanosecondWhereOnlyOneMomentIsKnown) {
  const RunTime time = run_time_of(
      {domain(1, 0, 10'000, {10'000, 5, 5'000'000}, {10'000, 5, 5'000'000})});
  EXPECT_EQ(time.domains.at(1).map.to_ns(10'250), 250u);
}

/// A clock of one tick a ns that is wrong by the wall by a second: its tick t is the reference's 2
/// t + 4000.
ClockSample asked_at(std::uint64_t ticks, std::uint64_t width = 20) {
  return {.peer_domain = 1,
          .sent_ticks = ticks - width / 2,
          .received_ticks = ticks + width / 2,
          .peer_ticks = 2 * ticks + 4'000};
}
ClockPoint wrong(std::uint64_t ticks) {
  return {ticks, static_cast<std::int64_t>(ticks), 1'005'000'000};
}

TEST(RunTime, PlacesADomainByWhatItMeasured) {
  const RunTime time = run_time_of({reference(), domain(2, 1, 4'000, wrong(4'000), wrong(9'000),
                                                        {asked_at(4'000), asked_at(9'000)})});
  const DomainTime& second = time.domains.at(2);
  EXPECT_TRUE(second.is_measured);
  EXPECT_EQ(second.map.to_ns(4'000), 1'000u);  // 12000 of the reference's ticks
  EXPECT_EQ(second.map.to_ns(8'000), 5'000u);
  EXPECT_EQ(second.map.to_ns(10'000), 7'000u) << "behind the last measurement at its own rate";
  EXPECT_NEAR(second.error_ns, 10.0, 1e-9) << "half of what the answers took";
  EXPECT_EQ(time.start_realtime_ns, 5'000'000) << "the run's time is the reference's";
}

TEST(RunTime, IsThatOfTheLowestRank) {
  // The reference asked the other clock, instead of the other way round.
  ClockDomain asker = reference();
  asker.lowest_rank = 1;
  asker.samples = {
      {.peer_domain = 2, .sent_ticks = 11'980, .received_ticks = 12'020, .peer_ticks = 4'000}};
  const RunTime time = run_time_of(
      {asker, domain(2, 0, 4'000, {4'000, 0, 7'000'000}, {14'000, 10'000, 7'010'000})});
  EXPECT_EQ(time.domains.at(1).map.to_signed_ns(12'000),
            time.domains.at(2).map.to_signed_ns(4'000));
  EXPECT_NEAR(time.domains.at(1).error_ns, 10.2, 1e-9) << "one comparison, 1 us after the start";
}

TEST(RunTime, ComposesLinesAlongAChain) {
  // The third knows only the second: its tick t is the second's 3 t. It is not told in which order
  // domains come.
  const ClockDomain third = domain(
      9, 2, 1'500, {1'500, 0, 0}, {3'000, 1'500, 1'500},
      {{.peer_domain = 5, .sent_ticks = 1'495, .received_ticks = 1'505, .peer_ticks = 4'500},
       {.peer_domain = 5, .sent_ticks = 2'995, .received_ticks = 3'005, .peer_ticks = 9'000}});
  const ClockDomain second = domain(5, 1, 4'000, wrong(4'000), wrong(9'000),
                                    {asked_at(4'000), asked_at(9'000)});
  const RunTime time = run_time_of({reference(), second, third});
  EXPECT_EQ(time.domains.at(9).map.to_ns(2'000), time.domains.at(5).map.to_ns(6'000));
  EXPECT_EQ(time.domains.at(9).map.to_ns(2'000), 3'000u);
  EXPECT_TRUE(time.domains.at(9).is_measured);
  EXPECT_NEAR(time.domains.at(9).error_ns, 15.0, 1e-9) << "errors add up";
}

TEST(RunTime, DoubtsARateThatWasMeasuredOnce) {
  // Died long after the only comparison, as its records tell; its clock may run up to 200 ppm apart
  // from the reference's.
  ClockDomain killed = domain(2, 1, 4'000, wrong(4'000), wrong(4'000), {asked_at(4'000)});
  killed.end_ticks = 4'000 + 1'000'000;
  EXPECT_NEAR(run_time_of({reference(), killed}).domains.at(2).error_ns, 10.0 + 200.0, 1e-9);
}

TEST(RunTime, DoubtsARateByWhatItsMeasurementsMayBeOff) {
  // 10 ns off at either end of a ms: 20 ppm, over the half ms that follows.
  ClockDomain killed = domain(2, 1, 4'000, wrong(4'000), wrong(4'000),
                              {asked_at(4'000), asked_at(1'004'000)});
  killed.end_ticks = 1'504'000;
  EXPECT_NEAR(run_time_of({reference(), killed}).domains.at(2).error_ns, 10.0 + 10.0, 1e-6);
}

TEST(RunTime, LeavesOutMeasurementsThatWereDisturbed) {
  std::vector<ClockSample> samples = {asked_at(4'000), asked_at(5'000), asked_at(6'000),
                                      asked_at(9'000)};
  samples[2].received_ticks += 1'500;  // the answer was late, and its middle is wrong
  const RunTime time = run_time_of(
      {reference(), domain(2, 1, 4'000, wrong(4'000), wrong(9'000), samples)});
  EXPECT_EQ(time.domains.at(2).map.to_ns(6'000), 3'000u);
  EXPECT_NEAR(time.domains.at(2).error_ns, 10.0, 1e-9);
}

TEST(RunTime, SurvivesDamagedSamples) {
  const std::vector<ClockSample> samples = {
      {.peer_domain = 1, .sent_ticks = 9, .received_ticks = 3, .peer_ticks = 1},
      {.peer_domain = 77, .sent_ticks = 1, .received_ticks = 3, .peer_ticks = 1},
      {.peer_domain = 2, .sent_ticks = 1, .received_ticks = 3, .peer_ticks = 1},
      {.peer_domain = 1,
       .sent_ticks = 0,
       .received_ticks = ~std::uint64_t{0},
       .peer_ticks = ~std::uint64_t{0}},
      asked_at(4'000),
      asked_at(4'000)};
  const RunTime time = run_time_of(
      {reference(), domain(2, 1, 4'000, wrong(4'000), wrong(9'000), samples)});
  EXPECT_TRUE(time.domains.at(2).is_measured);
  EXPECT_GE(time.domains.at(2).map.to_ns(5'000), time.domains.at(2).map.to_ns(4'000));
}

TEST(RunTime, ExtrapolatesAtTheRateThatWasMeasuredWell) {
  // Its tick takes 1.0001 ns; it was asked for 20 ticks each time, a second and more apart.
  const auto sample = [](std::uint64_t ticks) {
    return ClockSample{.peer_domain = 1,
                       .sent_ticks = ticks - 10,
                       .received_ticks = ticks + 10,
                       .peer_ticks = 10'000 + ticks * 2 + ticks / 5'000};
  };
  const std::uint64_t second = 1'000'000'000;
  const RunTime time = run_time_of({reference(), domain(2, 1, 0, wrong(0), wrong(5 * second),
                                                        {sample(second), sample(4 * second)})});
  EXPECT_NEAR(static_cast<double>(time.domains.at(2).map.to_ns(5 * second)), 5.0005e9, 20.0);
  EXPECT_NEAR(static_cast<double>(time.domains.at(2).map.to_ns(0)), 0.0, 20.0);
}

TEST(RunTime, DoesNotTakeTheRateFromMeasurementsThatAreClose) {
  // 100 ns apart, each 20 ns wide and off by 5: a rate of 1.1.
  std::vector<ClockSample> samples = {asked_at(4'000), asked_at(4'100)};
  samples[0].peer_ticks -= 10;
  samples[1].peer_ticks += 10;
  const RunTime time = run_time_of(
      {reference(), domain(2, 1, 4'000, wrong(4'000), wrong(900'000), samples)});
  EXPECT_NEAR(static_cast<double>(time.domains.at(2).map.to_ns(900'000)), 897'000.0, 10.0);
}

/// Clocks that run evenly, each at its own rate, and count ns from their own zero.
struct EvenClock {
  double offset_ns;
  double rate;
  std::uint64_t at(double time_ns) const {
    return static_cast<std::uint64_t>(offset_ns + rate * time_ns);
  }
};

/// Of a job of a second: where one clock asks another one, at moments that drag on as on a busy
/// machine.
class Job {
 public:
  explicit Job(std::uint32_t seed) : random_(seed) {}

  double between(double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random_);
  }
  EvenClock clock() { return {between(1e9, 3e9), 1.0 + between(-90e-6, 90e-6)}; }
  ClockSample ask(const EvenClock& asker, const EvenClock& asked, std::uint64_t peer,
                  double at_ns) {
    const double begin = at_ns - delay_ns();
    const double end = at_ns + delay_ns();
    return {.peer_domain = peer,
            .sent_ticks = asker.at(begin),
            .received_ticks = asker.at(end),
            .peer_ticks = asked.at(at_ns)};
  }

 private:
  double delay_ns() { return std::pow(10.0, between(2.0, 6.3)); }
  std::mt19937 random_;
};

TEST(RunTime, IsNowhereFurtherOffThanItSays) {
  // A chain of three. Each starts some ms before it asks for the first time and ends some ms after
  // the last.
  constexpr std::uint32_t kJobs = 3'000;
  for (std::uint32_t seed = 0; seed < kJobs; ++seed) {
    Job job(seed);
    const std::array<EvenClock, 3> clocks{EvenClock{1e9, 1.0}, job.clock(), job.clock()};
    const double end_ns = job.between(10e6, 1e9);
    std::vector<ClockDomain> domains;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      const auto point = [&](double time_ns) {
        return ClockPoint{clocks[i].at(time_ns), static_cast<std::int64_t>(time_ns), 0};
      };
      domains.push_back(
          domain(i + 1, static_cast<std::int32_t>(i), clocks[i].at(0), point(0), point(end_ns)));
      domains.back().end_ticks = clocks[i].at(end_ns);
      if (i == 0) continue;
      for (const double at_ns :
           {job.between(0, end_ns / 4), job.between(end_ns / 4, end_ns * 3 / 4),
            job.between(end_ns * 3 / 4, end_ns)}) {
        domains.back().samples.push_back(job.ask(clocks[i], clocks[i - 1], i, at_ns));
      }
    }
    const RunTime time = run_time_of(domains);
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      const DomainTime& found = time.domains.at(i + 1);
      constexpr double kRoundingNs = 4.0;
      for (const double at_ns : {0.0, end_ns / 3, end_ns / 2, end_ns}) {
        const auto run_ns = static_cast<double>(
            found.map.to_signed_ns(clocks[i].at(at_ns)) -
            time.domains.at(1).map.to_signed_ns(clocks[0].at(0)));
        ASSERT_LE(std::fabs(run_ns - at_ns), found.error_ns + kRoundingNs)
            << "job " << seed << ", clock " << i << " at " << at_ns;
      }
    }
  }
}

TEST(ClockDomains, AreThinnedOutEvenlyByTheQuickest) {
  std::vector<ClockSample> samples;
  for (std::uint64_t i = 0; i < 1000; ++i)
    samples.push_back(asked_at(4'000 + 100 * i, i % 7 == 3 ? 10 : 40));
  std::vector<ClockDomain> domains = {reference(),
                                      domain(2, 1, 4'000, wrong(4'000), wrong(9'000), samples)};
  thin_out(domains, 50);
  const std::vector<ClockSample>& kept = domains[1].samples;
  ASSERT_EQ(kept.size(), 50u);
  EXPECT_EQ(kept.front(), samples.front());
  EXPECT_EQ(kept.back(), samples.back());
  for (std::size_t i = 1; i + 1 < kept.size(); ++i)
    EXPECT_EQ(kept[i].received_ticks - kept[i].sent_ticks, 10u) << i;
  thin_out(domains, 1);
  EXPECT_EQ(domains[1].samples.size(), 2u) << "the first and the last";
}

TEST(ClockDomains, TravelAsBytes) {
  const std::vector<ClockDomain> domains = {
      reference(), domain(2, 1, 4'000, wrong(4'000), wrong(9'000), {asked_at(4'000)})};
  std::vector<std::byte> bytes;
  WireWriter writer(bytes);
  serialize(domains, writer);
  WireReader reader(bytes);
  const std::vector<ClockDomain> read = parse_clock_domains(reader);
  EXPECT_TRUE(reader.is_at_end());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].samples, domains[1].samples);
  EXPECT_EQ(read[1].last, domains[1].last);
  EXPECT_EQ(read[0].start_ticks, domains[0].start_ticks);
  WireReader cut(std::span<const std::byte>(bytes).first(bytes.size() / 2));
  (void)parse_clock_domains(cut);
  EXPECT_FALSE(cut.is_ok());
}

}  // namespace
}  // namespace megascope
