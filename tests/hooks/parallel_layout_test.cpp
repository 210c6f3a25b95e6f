#include "core/hooks/parallel_layout.h"

#include "core/hooks/hooks.h"
#include "core/lifecycle/runtime.h"

#include <gmock/gmock.h>

namespace megascope::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<ParallelIndex> places(const std::vector<std::string>& items, std::int32_t rank,
                                  std::int32_t size, std::string& problem) {
  return places_in(items, rank, size, problem);
}

TEST(ParallelLayout, TheFirstOfTheOrderChangesFastest) {
  std::string problem;
  EXPECT_THAT(
      places({"tp=2", "pp=3", "dp=2", "order=tp-dp-pp"}, 7, 12, problem),
      ElementsAre(ParallelIndex{"tp", 1, 2}, ParallelIndex{"dp", 1, 2}, ParallelIndex{"pp", 1, 3}));
  EXPECT_EQ(problem, "");
}

TEST(ParallelLayout, WithoutAnOrderItIsAsWritten) {
  std::string problem;
  EXPECT_THAT(places({"pp=2", "dp=3"}, 4, 6, problem),
              ElementsAre(ParallelIndex{"pp", 0, 2}, ParallelIndex{"dp", 2, 3}));
}

TEST(ParallelLayout, AllRanksHaveDifferentPlaces) {
  std::vector<std::vector<ParallelIndex>> seen;
  for (std::int32_t rank = 0; rank < 24; ++rank) {
    std::string problem;
    seen.push_back(places({"a=2", "b=3", "c=4", "order=b-c-a"}, rank, 24, problem));
    ASSERT_EQ(seen.back().size(), 3u) << problem;
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) EXPECT_NE(seen[i], seen.back());
  }
}

TEST(ParallelLayout, WhatCannotBeIsNamed) {
  const auto problem_of = [](const std::vector<std::string>& items) {
    std::string problem;
    EXPECT_THAT(places(items, 0, 4, problem), IsEmpty());
    return problem;
  };
  EXPECT_THAT(problem_of({"tp=2", "pp=3"}), HasSubstr("tp 2 x pp 3 is not the number of ranks, 4"));
  EXPECT_THAT(problem_of({"tp=2", "tp=2"}), HasSubstr("tp=2 is not"));
  EXPECT_THAT(problem_of({"tp=0"}), HasSubstr("tp=0"));
  EXPECT_THAT(problem_of({"tp=-4"}), HasSubstr("tp=-4"));
  EXPECT_THAT(problem_of({"tp=4x"}), HasSubstr("tp=4x"));
  EXPECT_THAT(problem_of({"t p=4"}), HasSubstr("t p=4"));
  EXPECT_THAT(problem_of({"=4"}), HasSubstr("=4"));
  EXPECT_THAT(problem_of({"4"}), HasSubstr("4"));
  EXPECT_THAT(problem_of({"tp=2", "pp=2", "order=tp"}), HasSubstr("order"));
  EXPECT_THAT(problem_of({"tp=2", "pp=2", "order=tp-tp"}), HasSubstr("order"));
  EXPECT_THAT(problem_of({"tp=2", "pp=2", "order=tp-pp-dp"}), HasSubstr("order"));
  EXPECT_THAT(problem_of({"tp=99999999999999999999"}), HasSubstr("99999"));
  EXPECT_THAT(problem_of({"a=65536", "b=65536", "c=65536", "d=65536"}),
              HasSubstr("is not the number of ranks"));
}

}  // namespace
}  // namespace megascope::hooks

namespace megascope {

/// No code begins a recording here.
Runtime& runtime() { std::abort(); }

}  // namespace megascope
