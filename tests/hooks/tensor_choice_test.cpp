#include "plugin/tensors/tensor_choice.h"

#include <gmock/gmock.h>

namespace megascope::tensors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TensorKinds kGradients = kinds_with(TensorKind::kGradReduced);

TEST(TensorChoice, IsANameOfAnyKindOrOfOne) {
  std::vector<std::string> problems;
  EXPECT_THAT(
      read_choices({"loss", "*@grad_reduced", "layers.*@ Weight ", "@exp_avg", "user@home@other"},
                   problems),
      ElementsAre(TensorChoice{"loss", kAllTensorKinds}, TensorChoice{"*", kGradients},
                  TensorChoice{"layers.*", kinds_with(TensorKind::kWeight)},
                  TensorChoice{"*", kinds_with(TensorKind::kExpAvg)},
                  TensorChoice{"user@home", kinds_with(TensorKind::kOther)}));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(TensorChoice, OfAnUnknownKindIsNamedAndLeftOut) {
  std::vector<std::string> problems;
  EXPECT_THAT(read_choices({"*@grad_redused", "w@", "w@weight", "*@count"}, problems),
              ElementsAre(TensorChoice{"w", kinds_with(TensorKind::kWeight)}));
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0],
            "MEGASCOPE_TENSORS: *@grad_redused is ignored: grad_redused is not a tensor kind: "
            "did you mean grad_reduced?");
  EXPECT_THAT(problems[1], HasSubstr("w@ is ignored"));
  EXPECT_THAT(problems[2],
              HasSubstr("; the kinds are weight, weight_updated, grad_unreduced, grad_reduced"));
}

TEST(TensorChoice, EveryKindHasItsName) {
  for (std::size_t i = 0; i < kTensorKindNames.size(); ++i) {
    std::vector<std::string> problems;
    const auto choices = read_choices({"x@" + std::string(kTensorKindNames[i])}, problems);
    EXPECT_THAT(choices, ElementsAre(TensorChoice{"x", kinds_with(static_cast<TensorKind>(i))}));
  }
  EXPECT_EQ(kAllTensorKinds, 0xFFF);
}

TEST(TensorChoice, KindsOfANameAreThoseOfAllItemsThatMatch) {
  const std::vector<TensorChoice> choices{
      {"*", kGradients}, {"layers.*", kinds_with(TensorKind::kWeight)}, {"loss", kAllTensorKinds}};
  EXPECT_EQ(chosen_kinds(choices, "head"), kGradients);
  EXPECT_EQ(chosen_kinds(choices, "layers.3.mlp"), kGradients | kinds_with(TensorKind::kWeight));
  EXPECT_EQ(chosen_kinds(choices, "loss"), kAllTensorKinds);
  EXPECT_EQ(chosen_kinds({}, "loss"), 0);
}

TEST(TensorChoice, AStarStandsForAnything) {
  EXPECT_TRUE(matches("*.weight", "h.3.weight"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "a.b.b.c"));
  EXPECT_FALSE(matches("a*b*c", "a.b.b.cd"));
  EXPECT_FALSE(matches("loss", "loss2"));
  EXPECT_FALSE(matches("", "x"));
}

}  // namespace
}  // namespace megascope::tensors
