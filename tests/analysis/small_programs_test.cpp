#include "analysis/detect/detect.h"
#include "analysis/detect/step_finder.h"
#include "core/record/memory_source.h"

#include <gtest/gtest.h>

namespace megascope::detect {
namespace {

enum Function : RegionId {
  kIsend = 1,
  kWaitall,
  kAllreduce,
  kAlltoall,
  kIallreduce,
  kSendTo,
  kReceive
};
constexpr CommId kWorld = 0;
constexpr CommId kRow = 1;
constexpr CommId kColumn = 2;
constexpr std::uint64_t kMs = 1'000'000;

/// One rank's calls, one behind the other.
class Rank {
 public:
  explicit Rank(std::int32_t number, std::int32_t world) {
    process_.definitions.info.world_rank = number;
    process_.definitions.info.host = "n1";
    process_.definitions.locations.push_back({.id = 0, .name = "", .is_main = true});
    for (const char* name : {"MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Alltoall",
                             "MPI_Iallreduce", "MPI_Send", "MPI_Recv"}) {
      process_.definitions.regions.push_back(
          {.id = static_cast<RegionId>(process_.definitions.regions.size() + 1),
           .name = name,
           .group = ""});
    }
    for (const CommId comm : {kWorld, kRow, kColumn}) {
      process_.definitions.comms.push_back({.id = comm,
                                            .global_name = comm + 1U,
                                            .name = "",
                                            .my_rank = number,
                                            .members = {{0, 1, world}},
                                            .remote_members = {}});
    }
    process_.locations.emplace_back();
  }
  void work(std::uint64_t ns) { now_ns_ += ns; }
  void call(Function function, const Fact& fact, std::uint64_t ns = 1000) {
    process_.locations[0].push_back({{.enter_ns = now_ns_,
                                      .leave_ns = now_ns_ + ns,
                                      .region = function,
                                      .comm = fact.comm,
                                      .facts = {}},
                                     {fact},
                                     {}});
    now_ns_ += ns;
  }
  void collective(Function function, CommId comm = kWorld) {
    call(function, {.kind = FactKind::kCollective, .comm = comm, .bytes = 8});
  }
  std::uint64_t now_ns() const { return now_ns_; }
  void wait_until(std::uint64_t ns) {
    process_.locations[0].back().call.leave_ns = now_ns_ = std::max(now_ns_, ns);
  }
  MemorySource::Process take() { return std::move(process_); }

 private:
  MemorySource::Process process_;
  std::uint64_t now_ns_ = kMs;
};

/// A neighbour exchange of `neighbours` messages in each iteration, and a sum over all in every
/// tenth one.
Rank exchanging(std::int32_t number, int iterations, int neighbours) {
  Rank rank(number, 4);
  for (int i = 0; i < iterations; ++i) {
    for (int other = 0; other < neighbours; ++other)
      rank.call(
          kIsend,
          {.kind = FactKind::kSendRequest, .comm = kWorld, .peer = other, .tag = 3, .bytes = 4000});
    rank.work(kMs);
    rank.call(kWaitall, {.kind = FactKind::kSendComplete, .comm = kWorld, .peer = i % neighbours});
    rank.work(kMs);
    if (i % 10 == 9) rank.collective(kAllreduce);
  }
  return rank;
}

std::vector<std::size_t> step_counts(const MemorySource& run) {
  std::vector<std::size_t> counts;
  for (const StepTimes& steps : find_step_times(run, 2)) counts.push_back(steps.ends_ns.size());
  return counts;
}

TEST(StepFinder, ASumEveryTenthIterationIsNotTheStep) {
  MemorySource run(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) run.add(exchanging(rank, 80, 2 + rank).take());
  EXPECT_EQ(step_counts(run), std::vector<std::size_t>(4, 80));
}

TEST(StepFinder, WhatIsDoneTwiceInAnIterationIsNotTheStepEither) {
  MemorySource run(2);
  for (std::int32_t number = 0; number < 2; ++number) {
    Rank rank(number, 2);
    for (int i = 0; i < 30; ++i) {
      for (const CommId comm : {kRow, kColumn, kColumn, kRow}) {
        rank.work(kMs);
        rank.collective(kAlltoall, comm);
      }
      if (i % 10 == 9) rank.collective(kAllreduce);
    }
    run.add(rank.take());
  }
  EXPECT_EQ(step_counts(run), std::vector<std::size_t>(2, 30));
}

TEST(StepFinder, BucketsOfGradientsAreNoSteps) {
  MemorySource run(2);
  for (std::int32_t number = 0; number < 2; ++number) {
    Rank rank(number, 2);
    for (int i = 0; i < 12; ++i) {
      rank.work(6 * kMs);
      for (int bucket = 0; bucket < 8; ++bucket) {
        rank.work(kMs);
        rank.call(kIallreduce,
                  {.kind = FactKind::kCollectiveRequest, .comm = kWorld, .bytes = 1U << 20U});
      }
      rank.collective(kAllreduce);
    }
    run.add(rank.take());
  }
  EXPECT_EQ(step_counts(run), std::vector<std::size_t>(2, 12));
}

TEST(StepFinder, RanksThatGoRoundUnlikeLoopsKeepTheOuterOne) {
  MemorySource run(2);
  run.add(exchanging(0, 120, 2).take());
  run.add(exchanging(1, 90, 2).take());
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
      ranks[0].work(gap_ns(step, rank));
      ranks[0].call(
          kSendTo,
          {.kind = FactKind::kSend, .comm = kWorld, .peer = rank, .tag = 1, .bytes = 2000});
      Rank& worker = ranks[static_cast<std::size_t>(rank)];
      worker.call(kReceive,
                  {.kind = FactKind::kRecv, .comm = kWorld, .peer = 0, .tag = 1, .bytes = 2000});
      worker.wait_until(ranks[0].now_ns());
      worker.work(4 * kMs + static_cast<std::uint64_t>((step * 7 + rank * 13) % 11) * 8000);
      worker.call(kSendTo,
                  {.kind = FactKind::kSend, .comm = kWorld, .peer = 0, .tag = 2, .bytes = 1000});
    }
    for (std::int32_t rank = 1; rank < kRanks; ++rank) {
      ranks[0].call(
          kReceive,
          {.kind = FactKind::kRecv, .comm = kWorld, .peer = rank, .tag = 2, .bytes = 1000});
      ranks[0].wait_until(ranks[static_cast<std::size_t>(rank)].now_ns());
    }
    const std::uint64_t end_ns = ranks[0].now_ns() + 1000;
    for (Rank& rank : ranks) {
      rank.collective(kAllreduce);
      rank.wait_until(end_ns);
    }
  }
  MemorySource run(kRanks);
  for (Rank& rank : ranks) run.add(rank.take());
  return detect(run);
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

/// Two pieces of work and two sums a step, of six ranks; what rank 2 takes more, by step and piece.
/// neighbours(rank): to whom it sends between the pieces.
template <class Extra, class Neighbours>
Detection of_two_pieces(Extra extra_ns, Neighbours neighbours) {
  constexpr std::int32_t kRanks = 6;
  constexpr int kSteps = 40;
  std::vector<Rank> ranks;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank, kRanks);
  for (int step = 0; step < kSteps; ++step) {
    for (int piece = 0; piece < 2; ++piece) {
      std::uint64_t end_ns = 0;
      for (std::int32_t rank = 0; rank < kRanks; ++rank) {
        Rank& one = ranks[static_cast<std::size_t>(rank)];
        const auto noise = static_cast<std::uint64_t>((step * 7 + rank * 13 + piece * 5) % 11);
        one.work((piece == 0 ? 4 : 6) * kMs + noise * 8000 +
                 (rank == 2 ? extra_ns(step, piece) : 0));
        for (int other = 0; piece == 0 && other < neighbours(rank); ++other)
          one.call(kIsend, {.kind = FactKind::kSendRequest,
                            .comm = kWorld,
                            .peer = other,
                            .tag = 3,
                            .bytes = 4000});
        one.collective(piece == 0 ? kAlltoall : kAllreduce);
        end_ns = std::max(end_ns, one.now_ns());
      }
      for (Rank& rank : ranks) rank.wait_until(end_ns);
    }
  }
  MemorySource run(kRanks);
  for (Rank& rank : ranks) run.add(rank.take());
  return detect(run);
}

template <class Extra>
Detection of_two_pieces(Extra extra_ns) {
  return of_two_pieces(extra_ns, [](std::int32_t) { return 0; });
}

void expect_rank_2(const Detection& detection, Cause cause) {
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].ranks, std::vector<std::int32_t>{2});
  EXPECT_EQ(name_of(detection.root_causes[0].cause), name_of(cause));
}

TEST(FewCallsAStep, WhatIsLongNowHereNowThereArePauses) {
  expect_rank_2(of_two_pieces([](int step, int piece) {
                  return step % 5 < 2 && piece == (step / 5 + step) % 2 ? 2 * kMs : 0;
                }),
                Cause::kHostStall);
}

TEST(FewCallsAStep, PausesAreAnnotatedWhereRanksHaveOtherNumbersOfNeighbours) {
  const auto pause_ns = [](int step, int piece) {
    return step % 5 < 2 && piece == (step / 5 + step) % 2 ? 2 * kMs : 0;
  };
  expect_rank_2(of_two_pieces(pause_ns, [](std::int32_t rank) { return rank == 2 ? 3 : rank % 3; }),
                Cause::kHostStall);
}

TEST(FewCallsAStep, WhatIsLongInAllPiecesIsSlowWork) {
  expect_rank_2(of_two_pieces([](int step, int piece) {
                  return step % 5 < 2 ? (piece == 0 ? 4 : 6) * kMs / 5 : 0;
                }),
                Cause::kSlowCompute);
}

TEST(FewCallsAStep, WhatIsAlwaysLongInTheSamePieceIsSlowWork) {
  expect_rank_2(of_two_pieces([](int, int piece) { return piece == 0 ? 2 * kMs : 0; }),
                Cause::kSlowCompute);
}

}  // namespace
}  // namespace megascope::detect
