#include "core/trace/free_space.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace megascope::trace {
namespace {

TEST(FreeSpace, HasNothingAtFirst) { EXPECT_EQ(FreeSpace().find(1), FreeSpace::kNone); }

TEST(FreeSpace, JoinsPiecesOnBothSides) {
  FreeSpace space;
  space.add(FreeSpace::piece(100, 10));
  space.add(FreeSpace::piece(120, 10));
  EXPECT_EQ(space.find(11), FreeSpace::kNone);
  space.add(FreeSpace::piece(110, 10));
  EXPECT_EQ(space.find(30), 100u);
}

TEST(FreeSpace, GivesTheBeginAndKeepsTheRest) {
  FreeSpace space;
  space.add(FreeSpace::piece(100, 30));
  EXPECT_EQ(space.bytes_at(100), 30u);
  space.take(100, 10);
  EXPECT_EQ(space.find(20), 110u);
  EXPECT_EQ(space.find(21), FreeSpace::kNone);
  space.take(110, 20);
  EXPECT_EQ(space.find(1), FreeSpace::kNone);
}

/// Against a set of single free bytes.
TEST(FreeSpace, NeverGivesAByteTwice) {
  std::mt19937 random(7);
  FreeSpace space;
  std::set<std::uint64_t> model;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> used;
  space.add(FreeSpace::piece(1000, 5000));
  for (std::uint64_t i = 1000; i < 6000; ++i) model.insert(i);
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 200;
      const FreeSpace::Offset place = space.find(bytes);
      if (place == FreeSpace::kNone) continue;
      space.take(place, bytes);
      for (std::uint64_t i = place; i < place + bytes; ++i) ASSERT_EQ(model.erase(i), 1u);
      used.emplace_back(place, bytes);
    } else if (!used.empty()) {
      std::swap(used[random() % used.size()], used.back());
      const auto [place, bytes] = used.back();
      used.pop_back();
      space.add(FreeSpace::piece(place, bytes));
      for (std::uint64_t i = place; i < place + bytes; ++i) model.insert(i);
    }
  }
  for (const auto& [place, bytes] : used) space.add(FreeSpace::piece(place, bytes));
  EXPECT_EQ(space.find(5000), 1000u);
}

}  // namespace
}  // namespace megascope::trace
