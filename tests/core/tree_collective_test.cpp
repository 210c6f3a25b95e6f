#include "tests/support/thread_collective.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace megascope::test {
namespace {

using testing::ElementsAre;

Collective::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "" of member 0, "b" of 1, "cc" of 2 …
std::string word_of(int rank) {
  return std::string(static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
}

/// Groups of powers of two, of odd numbers, and one with a single far member.
class Tree : public testing::TestWithParam<int> {
 protected:
  static void on_each(const std::function<void(Collective&)>& member) {
    run_members(GetParam(), member);
  }
};
INSTANTIATE_TEST_SUITE_P(Members, Tree, testing::Values(1, 2, 3, 4, 7, 8, 9));

TEST_P(Tree, MergesInRankOrder) {
  on_each([](Collective& group) {
    Collective::Bytes mine = bytes_of(word_of(group.rank()));
    EXPECT_TRUE(group
                    .merge_up(mine,
                              [](Collective::Bytes& lower, std::span<const std::byte> higher) {
                                lower.insert(lower.end(), higher.begin(), higher.end());
                              })
                    .is_ok());
    std::string expected;
    for (int rank = 0; rank < group.size(); ++rank) expected += word_of(rank);
    if (group.rank() == 0) {
      EXPECT_EQ(text_of(mine), expected);
    }
  });
}

TEST_P(Tree, BroadcastsFromEveryRoot) {
  on_each([](Collective& group) {
    for (int root = 0; root < group.size(); ++root) {
      Collective::Bytes text = bytes_of(group.rank() == root ? word_of(root) : "of another");
      EXPECT_TRUE(group.bcast_resized(text, root).is_ok());
      EXPECT_EQ(text_of(text), word_of(root));
      int number = group.rank();
      EXPECT_TRUE(group.bcast(std::as_writable_bytes(std::span(&number, 1)), root).is_ok());
      EXPECT_EQ(number, root);
    }
    EXPECT_TRUE(group.barrier().is_ok());
  });
}

TEST_P(Tree, GathersToEveryRoot) {
  on_each([](Collective& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<Collective::Bytes> parts(3);
      EXPECT_TRUE(group.gatherv(bytes_of(word_of(group.rank())), parts, root).is_ok());
      ASSERT_EQ(parts.size(), group.rank() == root ? static_cast<std::size_t>(group.size()) : 0);
      for (std::size_t rank = 0; rank < parts.size(); ++rank)
        EXPECT_EQ(text_of(parts[rank]), word_of(static_cast<int>(rank)));
      Collective::Bytes all;
      EXPECT_TRUE(
          group.gather(bytes_of(std::string(2, static_cast<char>('a' + group.rank()))), all, root)
              .is_ok());
      EXPECT_EQ(text_of(all), group.rank() == root
                                  ? std::string("aabbccddeeffgghhii").substr(0, parts.size() * 2)
                                  : "");
    }
  });
}

TEST_P(Tree, ScattersFromEveryRoot) {
  on_each([](Collective& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<Collective::Bytes> parts;
      for (int rank = 0; rank < group.size() && group.rank() == root; ++rank)
        parts.push_back(bytes_of(word_of(rank)));
      Collective::Bytes mine = bytes_of("old");
      EXPECT_TRUE(group.scatterv(parts, mine, root).is_ok());
      EXPECT_EQ(text_of(mine), word_of(group.rank()));
      const std::string all = std::string("aabbccddeeffgghhii")
                                  .substr(0, static_cast<std::size_t>(group.size()) * 2);
      Collective::Bytes two(2);
      EXPECT_TRUE(group.scatter(bytes_of(group.rank() == root ? all : ""), two, root).is_ok());
      EXPECT_EQ(text_of(two), std::string(2, static_cast<char>('a' + group.rank())));
    }
  });
}

TEST_P(Tree, SplitsByColorAndKey) {
  on_each([](Collective& group) {
    std::unique_ptr<Collective> part;
    ASSERT_TRUE(group.split(group.rank() % 2, -group.rank(), part).is_ok());
    const int own = group.rank() % 2;
    EXPECT_EQ(part->size(), (group.size() + 1 - own) / 2);
    EXPECT_EQ(part->rank(), (group.size() - 1 - group.rank()) / 2) << "the highest comes first";
    int number = group.rank();
    EXPECT_TRUE(part->bcast(std::as_writable_bytes(std::span(&number, 1)), 0).is_ok());
    EXPECT_EQ(number % 2, own);
  });
}

TEST(BinomialTree, IsOneOfPowersOfTwo) {
  EXPECT_THAT(BinomialTree(0, 13).children(), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(BinomialTree(8, 13).children(), ElementsAre(9, 10, 12));
  EXPECT_THAT(BinomialTree(12, 13).children(), ElementsAre());
  EXPECT_EQ(BinomialTree(12, 13).parent(), 8);
  EXPECT_EQ(BinomialTree(0, 13).subtree_count(8), 5);
  EXPECT_EQ(BinomialTree(0, 13).subtree_count(4), 4);
  EXPECT_TRUE(BinomialTree(0, 13).is_below(11, 8));
  EXPECT_FALSE(BinomialTree(0, 13).is_below(11, 4));
}

}  // namespace
}  // namespace megascope::test
