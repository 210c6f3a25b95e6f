#include "analysis/hang/hang.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

/// Who waits for whom in windows, where real programs cannot be made to show it.
namespace megascope::analysis {
namespace {

using test::one_sided;
using test::recv;
using test::SampleRun;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WinId kWindow = 0;

/// A window on the world, and a group (number 0) with the ranks, in every process.
SampleRun run_with_window(std::int32_t size, const std::vector<std::int32_t>& group = {}) {
  SampleRun run(size);
  for (std::int32_t rank = 0; rank < size; ++rank) {
    run.process(rank).add_window(50, "halo");
    run.process(rank).add_group(group);
  }
  return run;
}

Fact lock(std::int32_t target, bool is_exclusive = true) {
  return one_sided(FactKind::kLock, kWindow, target, is_exclusive ? rma::kExclusive : 0);
}
Fact about(FactKind kind, std::int32_t target = kNoPeer) {
  return one_sided(kind, kWindow, target);
}
Fact sync(std::uint64_t what) { return one_sided(FactKind::kGroupSync, kWindow, kNoPeer, what); }
Fact fence(std::uint32_t sequence) {
  return one_sided(FactKind::kFence, kWindow, kNoPeer, 0, kNoRequest, sequence);
}

std::vector<std::vector<std::int32_t>> cycles_in(const SampleRun& run,
                                                 HangReport* report = nullptr) {
  const auto source = run.source();
  const CommTable comms(*source);
  HangReport found = analyze_hang(
      *source, comms, [](const ProcessInfo&) { return Existence::kUnknown; }, 1);
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& cycle : found.cycles) {
    all.emplace_back();
    for (const CycleStep& step : cycle) all.back().push_back(step.world_rank);
  }
  if (report != nullptr) *report = std::move(found);
  return all;
}

TEST(HangOneSided, ALockWaitsForItsHolderUntilThatUnlocks) {
  SampleRun run = run_with_window(3);
  run.call(1, "MPI_Win_lock", 1, {lock(2)})
      .in(1, "MPI_Recv", 5, {recv(0, 1)})
      .in(0, "MPI_Win_lock", 6, {lock(2)});
  EXPECT_THAT(cycles_in(run), ElementsAre(ElementsAre(0, 1)));
  SampleRun released = run_with_window(3);
  released.call(1, "MPI_Win_lock", 1, {lock(2)})
      .call(1, "MPI_Win_unlock", 3, {about(FactKind::kUnlock, 2)});
  released.in(1, "MPI_Recv", 5, {recv(0, 1)}).in(0, "MPI_Win_lock", 6, {lock(2)});
  EXPECT_THAT(cycles_in(released), IsEmpty());
}

TEST(HangOneSided, SharedLocksGoTogetherAndOtherTargetsDoNotMatter) {
  for (const bool is_shared : {true, false}) {
    SampleRun run = run_with_window(3);
    run.call(1, "MPI_Win_lock", 1, {lock(is_shared ? 2 : 1, !is_shared)})
        .in(1, "MPI_Recv", 5, {recv(0, 1)});
    run.in(0, "MPI_Win_lock", 6, {lock(2, !is_shared)});
    EXPECT_THAT(cycles_in(run), IsEmpty()) << is_shared;
  }
}

TEST(HangOneSided, OfTwoExclusiveHoldersOnlyOneIsRight) {
  SampleRun run = run_with_window(4);
  run.call(1, "MPI_Win_lock", 1, {lock(3)})
      .in(1, "MPI_Recv", 5, {recv(0, 1)})
      .in(0, "MPI_Win_lock", 6, {lock(3)});
  run.call(2, "MPI_Win_lock", 1, {lock(3)});
  EXPECT_THAT(cycles_in(run), IsEmpty()) << "rank 2 may have it";
  run.in(2, "MPI_Recv", 5, {recv(0, 1)});
  EXPECT_THAT(cycles_in(run), ElementsAre(ElementsAre(0, 1)));
}

TEST(HangOneSided, TheSecondStartWaitsForTheSecondPost) {
  SampleRun run = run_with_window(2, {0, 1});
  run.call(1, "MPI_Win_post", 1, {sync(rma::kPost)})
      .call(0, "MPI_Win_start", 2, {sync(rma::kStart)});
  run.call(0, "MPI_Win_post", 3, {sync(rma::kPost)}).call(0, "MPI_Win_post", 4, {sync(rma::kPost)});
  run.in(1, "MPI_Recv", 9, {recv(0, 1)});
  SampleRun later = run;
  run.in(0, "MPI_Win_complete", 9, {sync(rma::kComplete)});
  EXPECT_THAT(cycles_in(run), IsEmpty()) << "its post is there";
  later.call(0, "MPI_Win_complete", 8, {sync(rma::kComplete)})
      .in(0, "MPI_Win_start", 9, {sync(rma::kStart)});
  EXPECT_THAT(cycles_in(later), ElementsAre(ElementsAre(0, 1)));
}

TEST(HangOneSided, APutAtATargetIsNoCycle) {
  SampleRun run = run_with_window(2);
  run.call(0, "MPI_Win_lock", 1, {lock(1)}).in(0, "MPI_Win_flush", 5, {about(FactKind::kFlush, 1)});
  run.in(1, "MPI_Recv", 5, {recv(0, 1)});
  HangReport report;
  EXPECT_THAT(cycles_in(run, &report), IsEmpty());
  ASSERT_THAT(report.waiting, SizeIs(2));
  ASSERT_THAT(report.waiting[0].wants, SizeIs(1));
  EXPECT_EQ(report.waiting[0].wants[0].kind, Want::Kind::kTarget);
  EXPECT_EQ(report.waiting[0].wants[0].target, 1);
}

TEST(HangOneSided, FencesAreNumberedByWindow) {
  SampleRun run = run_with_window(2);
  run.collective(0, "MPI_Barrier", 1, 0, 0).collective(1, "MPI_Barrier", 1, 0, 0);
  run.call(0, "MPI_Win_fence", 2, {fence(0)}).call(1, "MPI_Win_fence", 2, {fence(0)});
  run.in(0, "MPI_Win_fence", 5, {fence(1)}).in(1, "MPI_Recv", 5, {recv(0, 1)});
  HangReport report;
  EXPECT_THAT(cycles_in(run, &report), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(report.mismatches, IsEmpty());
}

}  // namespace
}  // namespace megascope::analysis
