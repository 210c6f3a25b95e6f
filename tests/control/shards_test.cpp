#include "plugin/tensors/shards.h"

#include <gmock/gmock.h>

#include <set>

namespace megascope::tensors {
namespace {

Layout cube(std::int32_t rank) {
  return Layout::of({{"tp", rank % 2, 2}, {"dp", rank / 2 % 2, 2}, {"pp", rank / 4, 2}}, rank, 8);
}

TEST(Shards, WhatIsSplitIsWholeOverItsGroup) {
  const ShardFacts gradient{.name = "w",
                            .layer = 3,
                            .kind = TensorKind::kGradReduced,
                            .is_split = true,
                            .split_group = "tp"};
  const Shard first = shard_of(gradient, cube(0));
  EXPECT_EQ(first.parts, 2U);
  EXPECT_TRUE(first.apart.empty());
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const Shard shard = shard_of(gradient, cube(rank));
    EXPECT_EQ(shard.key, first.key);
    EXPECT_EQ(shard.origin == first.origin, rank < 2) << rank;  // the same copy: tp only differs
    EXPECT_GE(shard.origin, first.origin);
  }
}

TEST(Shards, DataIsWholeOverReplicasAndUnreducedGradientsAreApart) {
  const ShardFacts activation{.name = "x", .layer = 0, .kind = TensorKind::kActvOut};
  EXPECT_EQ(shard_of(activation, cube(0)).parts, 2U);
  EXPECT_EQ(shard_of(activation, cube(0)).origin, shard_of(activation, cube(2)).origin);
  EXPECT_NE(shard_of(activation, cube(0)).origin, shard_of(activation, cube(1)).origin);
  const ShardFacts gradient{.name = "g", .layer = 0, .kind = TensorKind::kGradUnreduced};
  EXPECT_NE(shard_of(gradient, cube(0)).key, shard_of(gradient, cube(2)).key);
  EXPECT_EQ(shard_of(gradient, cube(2)).apart, "dp 1");
  EXPECT_EQ(shard_of(gradient, cube(2)).parts, 1U);
}

TEST(Shards, KeysDifferWhereTensorsDo) {
  std::set<std::uint64_t> keys;
  for (const char* name : {"a", "b", ""}) {
    for (const std::int32_t layer : {-1, 0, 1, 256}) {
      for (const TensorKind kind :
           {TensorKind::kWeight, TensorKind::kGradReduced, TensorKind::kOther}) {
        keys.insert(shard_of({.name = name, .layer = layer, .kind = kind}, cube(0)).key);
      }
    }
  }
  EXPECT_EQ(keys.size(), 3U * 4 * 3);
}

TEST(Shards, SplitAlongAnotherGroupAndAlongOneThatNoneReported) {
  ShardFacts state{.name = "m", .kind = TensorKind::kExpAvg, .is_split = true, .split_group = "dp"};
  EXPECT_EQ(shard_of(state, cube(0)).parts, 2U);
  EXPECT_EQ(shard_of(state, cube(0)).origin, shard_of(state, cube(2)).origin);
  EXPECT_NE(shard_of(state, cube(0)).origin, shard_of(state, cube(1)).origin);
  state.split_group = "ep";
  EXPECT_FALSE(shard_of(state, cube(0)).is_known);
  state.split_group = "tp";
  EXPECT_TRUE(shard_of(state, Layout::of({}, 1, 3)).is_known);
  EXPECT_EQ(shard_of(state, Layout::of({}, 1, 3)).parts, 3U);
}

TEST(Layout, PlacesAreHeldOnceOrTheSumReports) {
  std::uint64_t sum = 0;
  std::set<std::uint64_t> places;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    places.insert(cube(rank).place());
    sum += hash_of_place(cube(rank).place());
    EXPECT_EQ(cube(rank).hash(), cube(0).hash());
    EXPECT_TRUE(cube(rank).is_whole());
  }
  EXPECT_EQ(places.size(), 8U);
  EXPECT_EQ(sum, sum_of_places(8));
  EXPECT_NE(sum - hash_of_place(7) + hash_of_place(0), sum_of_places(8));
  EXPECT_FALSE(Layout::of({{"tp", 0, 2}}, 0, 3).is_whole());
  EXPECT_NE(Layout::of({{"tp", 0, 2}}, 0, 2).hash(), Layout::of({{"dp", 0, 2}}, 0, 2).hash());
}

}  // namespace
}  // namespace megascope::tensors
