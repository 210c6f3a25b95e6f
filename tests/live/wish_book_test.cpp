#include "plugin/live/wish_book.h"

#include "plugin/live/bounds.h"

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

using tensors::Wish;

Wish wish_of(int number) {
  Wish wish;
  wish.kind = tensors::WishKind::kStatistics;
  tensors::set_pattern(wish, "tensor " + std::to_string(number));
  return wish;
}

/// Wishes [begin, end).
std::vector<Wish> wishes(int begin, int end) {
  std::vector<Wish> made;
  for (int i = begin; i < end; ++i) made.push_back(wish_of(i));
  return made;
}

constexpr int kMax = static_cast<int>(tensors::kMaxWishes);
constexpr int kMaxOfGuests = static_cast<int>(kMaxCompatWishes);

TEST(LiveWishBook, HoldsEachThingOnceAndNoMoreThanFit) {
  WishBook book;
  const auto all = book.add(wishes(0, kMax), From::kClient);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(book.add(wishes(0, kMax), From::kClient), all)
      << "the same again is under the same ids";
  EXPECT_FALSE(book.add(wishes(kMax, kMax + 1), From::kClient).has_value());
  EXPECT_TRUE(book.add(wishes(3, 4), From::kGuest).has_value()) << "is there already";
  std::vector<std::byte> bytes;
  ASSERT_TRUE(book.take_changed(bytes));
  EXPECT_EQ(tensors::unpack_wishes(bytes).size(), tensors::kMaxWishes)
      << "nothing of what was refused is left";
}

TEST(LiveWishBook, WhatIsReplacedDoesNotCount) {
  WishBook book;
  const std::vector<std::uint32_t> most = book.add(wishes(0, kMax - 2), From::kClient).value();
  const std::vector<std::uint32_t> mine = book.add(wishes(100, 102), From::kClient).value();
  EXPECT_FALSE(book.add(wishes(200, 203), From::kClient, mine).has_value()) << "three for two";
  const auto others = book.add(wishes(200, 202), From::kClient, mine);
  ASSERT_TRUE(others.has_value());
  book.release(mine, From::kClient);
  EXPECT_EQ(book.find(mine[0]), nullptr);
  EXPECT_NE(book.find((*others)[0]), nullptr);
  EXPECT_FALSE(book.add(wishes(300, 301), From::kClient).has_value());
}

TEST(LiveWishBook, GuestsHaveHalfOfIt) {
  WishBook book;
  const auto mine = book.add(wishes(0, kMaxOfGuests), From::kGuest);
  ASSERT_TRUE(mine.has_value());
  EXPECT_FALSE(book.add(wishes(500, 501), From::kGuest).has_value());
  EXPECT_TRUE(book.add(wishes(500, 501), From::kGuest, {mine->front()}).has_value())
      << "instead of another";
  book.release({mine->front()}, From::kGuest);
  EXPECT_TRUE(book.add(wishes(1000, 1000 + kMax - kMaxOfGuests), From::kClient).has_value())
      << "and the others the other half";
  EXPECT_FALSE(book.add(wishes(600, 601), From::kClient).has_value());
}

TEST(LiveWishBook, WhatGuestsShareWithClientsIsOfTheirHalfToo) {
  WishBook book;
  ASSERT_TRUE(book.add(wishes(0, kMaxOfGuests), From::kClient).has_value());
  const auto shared = book.add(wishes(0, kMaxOfGuests), From::kGuest);
  ASSERT_TRUE(shared.has_value());
  EXPECT_FALSE(book.add(wishes(100, 101), From::kGuest).has_value())
      << "else they had all once the client leaves";
  book.release(*shared, From::kClient);
  EXPECT_NE(book.find(shared->front()), nullptr) << "guests want it still";
  EXPECT_TRUE(book.add(wishes(200, 200 + kMax - kMaxOfGuests), From::kClient).has_value());
}

}  // namespace
}  // namespace megascope::live
