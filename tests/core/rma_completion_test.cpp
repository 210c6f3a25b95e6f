#include "core/record/rma_completion.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace megascope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WinId kWindow = 3;
constexpr WinId kOther = 4;

Fact operation(FactKind kind, RequestId id, std::int32_t target, WinId window = kWindow) {
  return {.kind = kind,
          .comm = 0,
          .request = id,
          .peer = target,
          .tag = window_field(window),
          .bytes = 8};
}
Fact sync(FactKind kind, std::int32_t target = kNoPeer, std::uint64_t bytes = 0,
          WinId window = kWindow) {
  return {.kind = kind, .comm = 0, .peer = target, .tag = window_field(window), .bytes = bytes};
}
Fact done(RequestId id) { return {.kind = FactKind::kRmaComplete, .request = id}; }

/// "5 at origin and target" …
std::vector<std::string> words(std::span<const RmaCompletion::Done> all) {
  std::vector<std::string> lines;
  for (const RmaCompletion::Done& one : all) {
    const char* where = one.is_local && one.is_remote ? " at origin and target"
                        : one.is_local                ? " at origin"
                                                      : " at target";
    lines.push_back(std::to_string(one.operation) + where +
                    (one.window == kWindow ? "" : " of another window"));
  }
  return lines;
}

TEST(RmaCompletion, AFenceCompletesWhatWasIssuedOnItsWindow) {
  RmaCompletion completion;
  EXPECT_THAT(completion.add(operation(FactKind::kPut, 1, 0)), IsEmpty());
  completion.add(operation(FactKind::kGet, 2, 1));
  completion.add(operation(FactKind::kAccumulate, 3, 1, kOther));
  EXPECT_THAT(words(completion.add(sync(FactKind::kFence))),
              ElementsAre("1 at origin and target", "2 at origin and target"));
  EXPECT_THAT(completion.add(sync(FactKind::kFence)), IsEmpty());
  EXPECT_EQ(completion.open_count(), 1u);
  EXPECT_THAT(words(completion.add(sync(FactKind::kWinFreed, kNoPeer, 0, kOther))),
              ElementsAre("3 at origin and target of another window"));
}

TEST(RmaCompletion, AnUnlockCompletesWhatWasIssuedToItsTarget) {
  RmaCompletion completion;
  completion.add(operation(FactKind::kPut, 1, 0));
  completion.add(operation(FactKind::kPut, 2, 5));
  EXPECT_THAT(words(completion.add(sync(FactKind::kUnlock, 5))),
              ElementsAre("2 at origin and target"));
  EXPECT_THAT(completion.add(sync(FactKind::kUnlock, 7)), IsEmpty());
  completion.add(operation(FactKind::kPut, 3, 5));
  EXPECT_THAT(words(completion.add(sync(FactKind::kUnlock))),
              ElementsAre("1 at origin and target", "3 at origin and target"));
}

TEST(RmaCompletion, ALocalFlushLeavesTheTargetToALaterOne) {
  RmaCompletion completion;
  completion.add(operation(FactKind::kPut, 1, 0));
  completion.add(operation(FactKind::kGet, 2, 0));
  EXPECT_THAT(words(completion.add(sync(FactKind::kFlush, 0, /*local*/ 1))),
              ElementsAre("1 at origin", "2 at origin and target"));
  completion.add(operation(FactKind::kPut, 3, 0));
  EXPECT_THAT(words(completion.add(sync(FactKind::kFlush, 0))),
              ElementsAre("1 at target", "3 at origin and target"));
  EXPECT_EQ(completion.open_count(), 0u);
}

TEST(RmaCompletion, ARequestReportsOfTheOriginAndForAGetOfAll) {
  RmaCompletion completion;
  completion.add(operation(FactKind::kRput, 1, 0));
  completion.add(operation(FactKind::kRget, 2, 0));
  completion.add(operation(FactKind::kRgetAccumulate, 3, 0));
  EXPECT_THAT(words(completion.add(done(2))), ElementsAre("2 at origin and target"));
  EXPECT_THAT(words(completion.add(done(3))), ElementsAre("3 at origin"));
  EXPECT_THAT(words(completion.add(sync(FactKind::kUnlock, 0))),
              ElementsAre("1 at origin and target", "3 at target"));
  EXPECT_THAT(completion.add(done(1)), IsEmpty()) << "that it is complete has been told";
  EXPECT_THAT(completion.add(done(99)), IsEmpty());
}

TEST(RmaCompletion, TheEndOfAnAccessEpochReportsNothingOfTheTargets) {
  RmaCompletion completion;
  completion.add(operation(FactKind::kPut, 1, 0));
  completion.add(operation(FactKind::kCompareAndSwap, 2, 1));
  EXPECT_THAT(completion.add(sync(FactKind::kGroupSync, kNoPeer, rma::kWait)), IsEmpty())
      << "an exposure epoch";
  EXPECT_THAT(
      words(completion.add(sync(FactKind::kGroupSync, kNoPeer, rma::kComplete | rma::kNoCheck))),
      ElementsAre("1 at origin", "2 at origin and target"));
  EXPECT_EQ(completion.open_count(), 0u);
  EXPECT_THAT(completion.add(sync(FactKind::kFence)), IsEmpty());
}

TEST(RmaCompletion, KeepsNoOperationThatIsOver) {
  RmaCompletion completion;
  for (RequestId id = 1; id <= 10'000; ++id) {
    completion.add(operation(FactKind::kRget, id, 0));
    if (id > 50) {
      EXPECT_EQ(completion.add(done(id - 50)).size(), 1u);
    }
  }
  EXPECT_EQ(completion.open_count(), 50u);
}

TEST(RmaCompletion, FindsOperationsThatThreadsIssuedOutOfOrder) {
  RmaCompletion completion;
  for (const RequestId id : {5U, 2U, 9U, 1U}) completion.add(operation(FactKind::kRput, id, 0));
  for (const RequestId id : {1U, 9U, 2U, 5U}) EXPECT_EQ(completion.add(done(id)).size(), 1u) << id;
}

}  // namespace
}  // namespace megascope
