#include "exporters/megascan/one_stack.h"

#include <gmock/gmock.h>

#include <random>

/// Which of two slices that overlap in part is shown shorter.
namespace megascope::megascan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "+0@10 -0@20": slice 0 is entered at 10, left at 20.
std::string shown(std::vector<Slice> slices) {
  for (std::size_t i = 0; i < slices.size(); ++i) slices[i].index = static_cast<std::uint32_t>(i);
  std::string text;
  const auto say = [&text](char what, const Slice& slice, std::uint64_t time_ns) {
    text += std::string(text.empty() ? "" : " ") + what + std::to_string(slice.index) + "@" +
            std::to_string(time_ns);
  };
  put_on_one_stack(
      slices, [&](const Slice& slice) { say('+', slice, slice.begin_ns); },
      [&](const Slice& slice) { say('-', slice, slice.end_ns); });
  return text;
}

Slice work(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return {.begin_ns = begin_ns, .end_ns = end_ns, .is_work = true};
}
Slice comm(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return {.begin_ns = begin_ns, .end_ns = end_ns, .is_work = false};
}

TEST(OneStack, KeepsWhatNests) {
  EXPECT_EQ(shown({}), "");
  EXPECT_EQ(shown({work(0, 100), comm(10, 20), comm(20, 100)}),
            "+0@0 +1@10 -1@20 +2@20 -2@100 -0@100");
  EXPECT_EQ(shown({comm(0, 100), work(10, 90), work(100, 100)}),
            "+0@0 +1@10 -1@90 -0@100 +2@100 -2@100");
  EXPECT_EQ(shown({comm(5, 5), comm(5, 5)}), "+0@5 -0@5 +1@5 -1@5");
  EXPECT_EQ(shown({work(5, 9), work(5, 9)}), "+0@5 +1@5 -1@9 -0@9")
      << "of equal times the first encloses the second";
}

TEST(OneStack, CutsCommunicationWhereWorkIs) {
  EXPECT_EQ(shown({comm(10, 30), work(12, 50)}), "+0@10 -0@12 +1@12 -1@50");
  EXPECT_EQ(shown({work(0, 50), comm(40, 90)}), "+0@0 -0@50 +1@50 -1@90");
  EXPECT_EQ(shown({work(0, 12), comm(10, 30), work(13, 25), work(26, 40)}),
            "+0@0 -0@12 +1@12 +2@13 -2@25 -1@26 +3@26 -3@40");
  EXPECT_EQ(shown({comm(0, 30), comm(5, 30), work(20, 40)}), "+0@0 +1@5 -1@20 -0@20 +2@20 -2@40")
      << "all that are open";
}

TEST(OneStack, CutsTheLaterOfTwoOfAKind) {
  EXPECT_EQ(shown({comm(0, 20), comm(10, 30)}), "+0@0 -0@20 +1@20 -1@30");
  EXPECT_EQ(shown({work(0, 20), work(10, 30), comm(20, 25)}), "+0@0 -0@20 +1@20 +2@20 -2@25 -1@30");
}

TEST(OneStack, IsBalancedGoesForwardAndLosesNothingForAnyOverlap) {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    std::vector<Slice> slices;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t begin_ns = random() % 100;
      slices.push_back(
          {begin_ns, begin_ns + random() % 40, static_cast<std::uint32_t>(i), random() % 2 == 0});
    }
    std::vector<std::uint32_t> open;
    std::vector<int> seen(count);
    std::uint64_t now_ns = 0;
    put_on_one_stack(
        slices,
        [&](const Slice& slice) {
          ASSERT_GE(slice.begin_ns, now_ns);
          now_ns = slice.begin_ns;
          open.push_back(slice.index);
        },
        [&](const Slice& slice) {
          ASSERT_THAT(open, testing::Not(IsEmpty()));
          ASSERT_EQ(open.back(), slice.index);
          open.pop_back();
          ASSERT_GE(slice.end_ns, now_ns);
          now_ns = slice.end_ns;
          ASSERT_GE(slice.begin_ns, slices[slice.index].begin_ns);
          ASSERT_LE(slice.end_ns, slices[slice.index].end_ns);
          ++seen[slice.index];
        });
    EXPECT_THAT(open, IsEmpty());
    EXPECT_THAT(seen, testing::Each(1));
  }
}

}  // namespace
}  // namespace megascope::megascan
