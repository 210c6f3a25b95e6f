#include "analysis/detect/detect.h"
#include "analysis/detect/step_finder.h"
#include "tests/support/sample_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace megascope::detect {
namespace {

using test::kWorld;
using test::make_source;
using test::recv;
using test::SampleProcess;
using test::send;
using test::send_request;
using test::with_request;

constexpr CommId kRow = 2;
constexpr CommId kColumn = 3;
constexpr std::uint64_t kMs = 1'000'000;

/// One rank's calls, one after the other.
class Rank {
 public:
  explicit Rank(std::int32_t number, std::int32_t world) : process_(number, world) {
    process_.definitions().info.host = "n1";
    std::vector<std::int32_t> all(static_cast<std::size_t>(world));
    std::iota(all.begin(), all.end(), 0);
    process_.add_comm(2, "row", kWorld, all);
    process_.add_comm(3, "column", kWorld, all);
  }
  void work(std::uint64_t ns) { now_ns_ += ns; }
  void call(const char* function, const Fact& fact, std::uint64_t ns = 1000) {
    process_.call(function, now_ns_, now_ns_ + ns, {fact});
    now_ns_ += ns;
  }
  void collective(const char* function, CommId comm = kWorld) {
    call(function, test::collective(0, kNoPeer, 8, 0, comm));
  }
  std::uint64_t now_ns() const { return now_ns_; }
  void wait_until(std::uint64_t ns) {
    process_.last_call().leave_ns = now_ns_ = std::max(now_ns_, ns);
  }
  const SampleProcess& process() const { return process_; }

 private:
  SampleProcess process_;
  std::uint64_t now_ns_ = kMs;
};

MemorySource run_of(const std::vector<Rank>& ranks) {
  std::vector<SampleProcess> processes;
  for (const Rank& rank : ranks) processes.push_back(rank.process());
  return make_source(static_cast<std::int32_t>(ranks.size()), processes);
}

/// A neighbour exchange of `neighbours` messages in each iteration, and a sum over all in every
/// tenth one.
Rank exchanging(std::int32_t number, int iterations, int neighbours) {
  Rank rank(number, 4);
  for (int i = 0; i < iterations; ++i) {
    for (int other = 0; other < neighbours; ++other)
      rank.call("MPI_Isend", send_request(kNoRequest, other, 3, 4000));
    rank.work(kMs);
    rank.call("MPI_Waitall",
              {.kind = FactKind::kSendComplete, .comm = kWorld, .peer = i % neighbours});
    rank.work(kMs);
    if (i % 10 == 9) rank.collective("MPI_Allreduce");
  }
  return rank;
}

std::vector<std::size_t> step_counts(const MemorySource& run) {
  std::vector<std::size_t> counts;
  for (const StepTimes& steps : find_step_times(run, 2)) counts.push_back(steps.ends_ns.size());
  return counts;
}

TEST(StepFinder, ASumEveryTenthIterationIsNotTheStep) {
  std::vector<Rank> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) ranks.push_back(exchanging(rank, 80, 2 + rank));
  EXPECT_EQ(step_counts(run_of(ranks)), std::vector<std::size_t>(4, 80));
}

TEST(StepFinder, WhatIsDoneTwiceInAnIterationIsNotTheStepEither) {
  std::vector<Rank> ranks;
  for (std::int32_t number = 0; number < 2; ++number) {
    Rank& rank = ranks.emplace_back(number, 2);
    for (int i = 0; i < 30; ++i) {
      for (const CommId comm : {kRow, kColumn, kColumn, kRow}) {
        rank.work(kMs);
        rank.collective("MPI_Alltoall", comm);
      }
      if (i % 10 == 9) rank.collective("MPI_Allreduce");
    }
  }
  EXPECT_EQ(step_counts(run_of(ranks)), std::vector<std::size_t>(2, 30));
}

TEST(StepFinder, BucketsOfGradientsAreNoSteps) {
  std::vector<Rank> ranks;
  for (std::int32_t number = 0; number < 2; ++number) {
    Rank& rank = ranks.emplace_back(number, 2);
    for (int i = 0; i < 12; ++i) {
      rank.work(6 * kMs);
      for (int bucket = 0; bucket < 8; ++bucket) {
        rank.work(kMs);
        rank.call("MPI_Iallreduce", with_request(FactKind::kCollectiveRequest, kNoRequest,
                                                 test::collective(0, kNoPeer, 1U << 20U, 0)));
      }
      rank.collective("MPI_Allreduce");
    }
  }
  EXPECT_EQ(step_counts(run_of(ranks)), std::vector<std::size_t>(2, 12));
}

TEST(StepFinder, RanksThatGoRoundUnlikeLoopsKeepTheOuterOne) {
  const MemorySource run = run_of({exchanging(0, 120, 2), exchanging(1, 90, 2)});
  EXPECT_EQ(step_counts(run), (std::vector<std::size_t>{12, 9}));
}

/// A master that hands a task to each worker and takes the results; gap_ns(step, rank): its work
/// before it sends.
template <class Gap>
Detection of_master(Gap gap_ns) {
  constexpr std::int32_t kRanks = 6;
  constexpr int kSteps = 30;
  std::vector<Rank> ranks;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank, kRanks);
  for (int step = 0; step < kSteps; ++step) {
    for (std::int32_t rank = 1; rank < kRanks; ++rank) {
      ranks[0].work(static_cast<std::uint64_t>(gap_ns(step, rank)));
      ranks[0].call("MPI_Send", send(rank, 1, 2000));
      Rank& worker = ranks[static_cast<std::size_t>(rank)];
      worker.call("MPI_Recv", recv(0, 1, 2000));
      worker.wait_until(ranks[0].now_ns());
      worker.work(4 * kMs + static_cast<std::uint64_t>((step * 7 + rank * 13) % 11) * 8000);
      worker.call("MPI_Send", send(0, 2, 1000));
    }
    for (std::int32_t rank = 1; rank < kRanks; ++rank) {
      ranks[0].call("MPI_Recv", recv(rank, 2, 1000));
      ranks[0].wait_until(ranks[static_cast<std::size_t>(rank)].now_ns());
    }
    const std::uint64_t end_ns = ranks[0].now_ns() + 1000;
    for (Rank& rank : ranks) {
      rank.collective("MPI_Allreduce");
      rank.wait_until(end_ns);
    }
  }
  return detect(run_of(ranks));
}

TEST(Peers, WorkersOfAMasterAreNoStage) {
  const Detection detection = of_master([](int, std::int32_t) { return 10'000; });
  EXPECT_EQ(detection.step_count, 30);
  EXPECT_TRUE(detection.root_causes.empty()) << name_of(detection.root_causes[0].cause);
}

TEST(Peers, AMasterThatIsLongNowHereNowThereInEachStepPausesAsUsual) {
  const Detection detection = of_master([](int step, std::int32_t rank) {
    return step % 10 != 3 && (step * 7) % 5 + 1 == rank ? 700'000 : 400'000;
  });
  EXPECT_EQ(detection.step_count, 30);
  EXPECT_TRUE(detection.root_causes.empty()) << name_of(detection.root_causes[0].cause);
}

/// Two segments of work and two sums a step, of six ranks; what rank 2 takes more, by step and
/// segment. neighbours(rank): to whom it sends between the segments.
template <class Extra, class Neighbours>
Detection of_two_segments(Extra extra_ns, Neighbours neighbours) {
  constexpr std::int32_t kRanks = 6;
  constexpr int kSteps = 40;
  std::vector<Rank> ranks;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank, kRanks);
  for (int step = 0; step < kSteps; ++step) {
    for (int segment = 0; segment < 2; ++segment) {
      std::uint64_t end_ns = 0;
      for (std::int32_t rank = 0; rank < kRanks; ++rank) {
        Rank& one = ranks[static_cast<std::size_t>(rank)];
        const auto noise = static_cast<std::uint64_t>((step * 7 + rank * 13 + segment * 5) % 11);
        one.work((segment == 0 ? 4 : 6) * kMs + noise * 8000 +
                 (rank == 2 ? extra_ns(step, segment) : 0));
        for (int other = 0; segment == 0 && other < neighbours(rank); ++other)
          one.call("MPI_Isend", send_request(kNoRequest, other, 3, 4000));
        one.collective(segment == 0 ? "MPI_Alltoall" : "MPI_Allreduce");
        end_ns = std::max(end_ns, one.now_ns());
      }
      for (Rank& rank : ranks) rank.wait_until(end_ns);
    }
  }
  return detect(run_of(ranks));
}

template <class Extra>
Detection of_two_segments(Extra extra_ns) {
  return of_two_segments(extra_ns, [](std::int32_t) { return 0; });
}

void expect_rank_2(const Detection& detection, Cause cause) {
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].ranks, std::vector<std::int32_t>{2});
  EXPECT_EQ(name_of(detection.root_causes[0].cause), name_of(cause));
}

TEST(FewCallsAStep, WhatIsLongNowHereNowThereArePauses) {
  expect_rank_2(of_two_segments([](int step, int segment) {
                  return step % 5 < 2 && segment == (step / 5 + step) % 2 ? 2 * kMs : 0;
                }),
                Cause::kHostStall);
}

TEST(FewCallsAStep, PausesAreAnnotatedWhereRanksHaveOtherNumbersOfNeighbours) {
  const auto pause_ns = [](int step, int segment) {
    return step % 5 < 2 && segment == (step / 5 + step) % 2 ? 2 * kMs : 0;
  };
  expect_rank_2(
      of_two_segments(pause_ns, [](std::int32_t rank) { return rank == 2 ? 3 : rank % 3; }),
      Cause::kHostStall);
}

TEST(FewCallsAStep, WorkThatIsLongInAllSegmentsIsSlow) {
  expect_rank_2(of_two_segments([](int step, int segment) {
                  return step % 5 < 2 ? (segment == 0 ? 4 : 6) * kMs / 5 : 0;
                }),
                Cause::kSlowCompute);
}

TEST(FewCallsAStep, WorkThatIsAlwaysLongInTheSameSegmentIsSlow) {
  expect_rank_2(of_two_segments([](int, int segment) { return segment == 0 ? 2 * kMs : 0; }),
                Cause::kSlowCompute);
}

}  // namespace
}  // namespace megascope::detect
