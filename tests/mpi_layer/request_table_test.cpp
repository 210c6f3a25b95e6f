#include "mpi_layer/handles/requests.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

/// The table that follows requests: handles are numbers here, MPI is not running.
namespace megascope::mpi {
namespace {

constexpr std::uint64_t kHandle = 0x7F00DEAD0040;
constexpr std::uint64_t kShared = 0x7F00DEAD8000;

class RequestTableTest : public testing::Test {
 protected:
  RequestTableTest() {
    g_handles.shared_mask = ~std::uint64_t{0};
    g_handles.shared_bits = kShared;
  }
  ~RequestTableTest() override { g_is_multithreaded = false; }

  RequestEntry* insert(std::uint64_t key, LocationId location = 0) {
    RequestEntry* entry = table_.insert(key);
    entry->start = {.kind = FactKind::kSendRequest, .request = entry->serial};
    entry->location = location;
    return entry;
  }
  RequestEntry* find(std::uint64_t key) { return table_.find(key, table_.horizon(), 0); }

  RequestTable table_;
};

TEST_F(RequestTableTest, FindsWhatIsOpenAndNothingElse) {
  std::mt19937_64 random(7);
  std::unordered_map<std::uint64_t, RequestEntry*> open;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t key = kHandle + (random() % 5000) * 64;
    const auto found = open.find(key);
    ASSERT_EQ(find(key), found == open.end() ? nullptr : found->second);
    if (found == open.end()) {
      open[key] = insert(key);
    } else {
      table_.erase(found->second);
      open.erase(found);
    }
  }
  EXPECT_GT(open.size(), 1000u);
}

TEST_F(RequestTableTest, AnEntryBeginsWithNothingOfTheOneBefore) {
  RequestEntry* first = insert(kHandle);
  first->is_persistent = true;
  first->is_active = false;
  first->is_cancel_requested = true;
  table_.erase(first);
  const RequestEntry* second = table_.insert(kHandle + 64);
  ASSERT_EQ(second, first) << "the same memory";
  EXPECT_EQ(second->start, Fact{});
  EXPECT_FALSE(second->is_persistent);
  EXPECT_TRUE(second->is_active);
  EXPECT_FALSE(second->is_cancel_requested);
}

TEST_F(RequestTableTest, AHandleWhoseCompletionWasNotSeenIsReplaced) {
  insert(kHandle);
  RequestEntry* second = insert(kHandle);
  EXPECT_EQ(find(kHandle), second);
  table_.erase(second);
  EXPECT_EQ(find(kHandle), nullptr);
}

TEST_F(RequestTableTest, AHandleThatAnotherThreadGotMeanwhileIsNotMeant) {
  g_is_multithreaded = true;
  RequestEntry* mine = insert(kHandle, 0);
  const RequestTable::Serial horizon = table_.horizon();
  // MPI completes mine and hands the same handle out again, before this thread gets to look.
  RequestEntry* theirs = insert(kHandle, 1);
  EXPECT_EQ(table_.find(kHandle, horizon, 0), mine);
  EXPECT_EQ(table_.find(kHandle, table_.horizon(), 1), theirs);
  table_.erase(mine);
  EXPECT_EQ(table_.find(kHandle, horizon, 0), nullptr);
  EXPECT_EQ(find(kHandle), theirs);
  table_.erase(theirs);
  EXPECT_EQ(find(kHandle), nullptr);
}

TEST_F(RequestTableTest, HandlesWhoseCompletionIsNeverSeenDoNotPileUp) {
  g_is_multithreaded = true;
  std::vector<const RequestEntry*> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back(insert(kHandle));
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  EXPECT_LE(entries.size(), 8u);
}

TEST_F(RequestTableTest, TheSharedHandleStandsForItsOperationsInOrder) {
  std::deque<RequestEntry*> entries;
  for (int i = 0; i < 10; ++i) entries.push_back(insert(kShared));
  for (; !entries.empty(); entries.pop_front()) {
    ASSERT_EQ(find(kShared), entries.front());
    table_.erase(entries.front());
  }
  EXPECT_EQ(find(kShared), nullptr);
}

TEST_F(RequestTableTest, OfTheSharedHandleAThreadFindsItsOwnFirst) {
  g_is_multithreaded = true;
  RequestEntry* theirs = insert(kShared, 1);
  RequestEntry* mine = insert(kShared, 0);
  EXPECT_EQ(find(kShared), mine);
  table_.erase(mine);
  EXPECT_EQ(find(kShared), theirs) << "a request may be completed by another thread";
  RequestEntry* last = insert(kShared, 0);
  EXPECT_EQ(find(kShared), last);
  table_.erase(theirs);
  table_.erase(last);
  EXPECT_EQ(find(kShared), nullptr);
}

TEST_F(RequestTableTest, ThreadsDoNotDisturbEachOther) {
  g_is_multithreaded = true;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (LocationId location = 0; location < 4; ++location) {
    threads.emplace_back([&, location] {
      std::mt19937 random(location);
      std::vector<std::pair<std::uint64_t, RequestEntry*>> open;
      for (int i = 0; i < 20'000; ++i) {
        if (open.size() < 50) {
          const std::uint64_t key = kHandle + (std::uint64_t{location} << 32) +
                                    (random() % 10'000) * 64 + location * 8;
          if (table_.find(key, table_.horizon(), location) != nullptr) continue;
          open.emplace_back(key, insert(key, location));
        } else {
          const std::size_t at = random() % open.size();
          if (table_.find(open[at].first, table_.horizon(), location) != open[at].second) ++wrong;
          table_.erase(open[at].second);
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace megascope::mpi
