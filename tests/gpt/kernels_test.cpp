// What PyTorch does not judge: rounding, and loops at sizes that are no multiple of a vector.
#include "examples/gpt/kernels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gpt {
namespace {

float rounded(float x) {
  float y = 0;
  round_to_bf16(&x, 1, &y);
  return y;
}

TEST(RoundToBf16, TakesTheNearestAndTheEvenOneOfTwo) {
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(1.00390625F), 1.0F);  // half way between 1 and 1 + 2^-7: the even one
  EXPECT_EQ(rounded(1.01171875F),
            1.015625F);  // half way between 1 + 2^-7 and 1 + 2^-6: the even one
  EXPECT_EQ(rounded(1.00390637F), 1.0078125F);  // just above half way
  EXPECT_EQ(rounded(-3.14159265F), -3.140625F);
  EXPECT_EQ(rounded(3.4e38F), std::numeric_limits<float>::infinity());
}

TEST(RoundToBf16, LeavesZeroInfinityAndNan) {
  EXPECT_TRUE(std::signbit(rounded(-0.0F)));
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(rounded(std::nanf("1"))));
}

TEST(CausalSoftmax, RowsAddUpToOneAndTheFutureIsZero) {
  for (int length = 1; length <= 37; ++length) {
    std::vector<float> scores(static_cast<std::size_t>(length * length));
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = std::sin(static_cast<float>(i)) * 50.0F;
    std::vector<float> probabilities = scores;
    causal_softmax(probabilities.data(), length);
    for (int row = 0; row < length; ++row) {
      double total = 0;
      for (int i = 0; i <= row; ++i)
        total += std::exp(static_cast<double>(scores[static_cast<std::size_t>(row * length + i)]));
      for (int i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>(row * length + i);
        const double expected = i > row ? 0.0 : std::exp(static_cast<double>(scores[at])) / total;
        ASSERT_NEAR(static_cast<double>(probabilities[at]), expected, 1e-6)
            << length << ": " << row << ", " << i;
      }
    }
  }
}

TEST(Gelu, IsTheFormulaAndItsSlopeFarOutToo) {
  for (const double x : {-100.0, -9.0, -3.0, -0.5, 0.0, 0.1, 1.0, 4.0, 60.0}) {
    const auto formula = [](double t) {
      return 0.5 * t *
             (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * (t + 0.044715 * t * t * t)));
    };
    const auto input = static_cast<float>(x);
    float y = 0;
    float slope = 1;
    gelu(&input, 1, &y);
    gelu_gradient(&input, 1, &slope);
    EXPECT_NEAR(static_cast<double>(y), formula(x), 2e-6 * std::max(1.0, std::abs(x))) << x;
    EXPECT_NEAR(static_cast<double>(slope), (formula(x + 1e-6) - formula(x - 1e-6)) / 2e-6, 1e-5)
        << x;
  }
}

TEST(SumOfSquares, OfAnyLength) {
  for (std::size_t count = 0; count <= 40; ++count) {
    const std::vector<float> twos(count, 2.0F);
    EXPECT_EQ(sum_of_squares(twos.data(), count), 4.0 * static_cast<double>(count));
  }
}

TEST(Hash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash(0, 0, 0), hash(0, 0, 0));
  EXPECT_NE(hash(1, 2, 3), hash(1, 3, 2));
}

}  // namespace
}  // namespace gpt
