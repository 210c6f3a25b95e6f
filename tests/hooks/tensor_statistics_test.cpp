#include "kernels/tensor_statistics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace megascope::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
TensorStatistics of(const std::vector<T>& values, ElementType type) {
  const std::array<std::uint64_t, 1> extents{values.size()};
  const std::array<std::int64_t, 1> strides{1};
  return statistics_of(values.data(), type, extents, strides);
}

TEST(TensorStatistics, AreRightForEveryType) {
  const auto check = [](const TensorStatistics& found) {
    EXPECT_EQ(found.count, 4u);
    EXPECT_EQ(found.nan_count + found.infinity_count, 0u);
    EXPECT_EQ(found.min, 1.0);
    EXPECT_EQ(found.max, 8.0);
    EXPECT_EQ(found.mean(), 3.75);
    EXPECT_EQ(found.norm(), std::sqrt(85.0));
  };
  check(of<double>({1, 2, 4, 8}, ElementType::kFloat64));
  check(of<float>({1, 2, 4, 8}, ElementType::kFloat32));
  check(of<std::uint16_t>({0x3C00, 0x4000, 0x4400, 0x4800}, ElementType::kFloat16));
  check(of<std::uint16_t>({0x3F80, 0x4000, 0x4080, 0x4100}, ElementType::kBfloat16));
  check(of<std::int8_t>({1, 2, 4, 8}, ElementType::kInt8));
  check(of<std::int16_t>({1, 2, 4, 8}, ElementType::kInt16));
  check(of<std::int32_t>({1, 2, 4, 8}, ElementType::kInt32));
  check(of<std::int64_t>({1, 2, 4, 8}, ElementType::kInt64));
  check(of<std::uint8_t>({1, 2, 4, 8}, ElementType::kUint8));
  check(of<std::uint16_t>({1, 2, 4, 8}, ElementType::kUint16));
  check(of<std::uint32_t>({1, 2, 4, 8}, ElementType::kUint32));
  check(of<std::uint64_t>({1, 2, 4, 8}, ElementType::kUint64));
}

TEST(TensorStatistics, SignsOfIntegersAreKept) {
  EXPECT_EQ(of<std::int8_t>({-128, 127}, ElementType::kInt8).min, -128.0);
  EXPECT_EQ(of<std::uint8_t>({0x80, 0xFF}, ElementType::kUint8).max, 255.0);
  EXPECT_EQ(of<std::int64_t>({INT64_MIN}, ElementType::kInt64).min, -0x1p63);
  EXPECT_EQ(of<std::uint64_t>({UINT64_MAX}, ElementType::kUint64).max, 0x1p64);
}

TEST(TensorStatistics, WhatIsNotFiniteIsCountedAndNothingElse) {
  const TensorStatistics found = of<float>(
      {1.0F, -std::numeric_limits<float>::infinity(), 3.0F, std::numeric_limits<float>::quiet_NaN(),
       std::numeric_limits<float>::infinity()},
      ElementType::kFloat32);
  EXPECT_EQ(found.nan_count, 1u);
  EXPECT_EQ(found.infinity_count, 2u);
  EXPECT_EQ(found.min, 1.0);
  EXPECT_EQ(found.max, 3.0);
  EXPECT_EQ(found.mean(), 2.0);
  const TensorStatistics none = of<double>({kNan, kInfinity}, ElementType::kFloat64);
  EXPECT_TRUE(std::isnan(none.min) && std::isnan(none.max) && std::isnan(none.mean()) &&
              std::isnan(none.norm()));
}

TEST(TensorStatistics, WhatIsNotFiniteAnywhereInALongRowIsCounted) {
  // Rows of several blocks and a rest, with one or two such elements in any place.
  std::mt19937 random(5);
  std::normal_distribution<float> normal(3.0F, 10.0F);
  constexpr std::size_t kElements = 700;
  std::vector<float> values(kElements);
  for (std::size_t bad = 0; bad < kElements; ++bad) {
    std::ranges::generate(values, [&] { return normal(random); });
    values[bad] = bad % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                               : -std::numeric_limits<float>::infinity();
    values[bad * 31 % kElements] = std::numeric_limits<float>::infinity();
    TensorStatistics wanted{.count = kElements, .min = kInfinity, .max = -kInfinity};
    for (const float value : values) {
      wanted.nan_count += std::isnan(value) ? 1 : 0;
      wanted.infinity_count += std::isinf(value) ? 1 : 0;
      if (!std::isfinite(value)) continue;
      wanted.min = std::min<double>(wanted.min, value);
      wanted.max = std::max<double>(wanted.max, value);
      wanted.sum += static_cast<double>(value);
      wanted.sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
    }
    const TensorStatistics found = of(values, ElementType::kFloat32);
    ASSERT_EQ(found.nan_count, wanted.nan_count) << bad;
    ASSERT_EQ(found.infinity_count, wanted.infinity_count) << bad;
    ASSERT_EQ(found.min, wanted.min) << bad;
    ASSERT_EQ(found.max, wanted.max) << bad;
    ASSERT_NEAR(found.sum, wanted.sum, 1e-9) << bad;
    ASSERT_NEAR(found.sum_of_squares, wanted.sum_of_squares, 1e-7) << bad;
  }
}

TEST(TensorStatistics, EveryHalfIsWhatItsBitsReport) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const TensorStatistics found = of<std::uint16_t>({half}, ElementType::kFloat16);
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const int fraction = static_cast<int>(bits & 0x3FF);
    if (exponent == 31) {
      EXPECT_EQ(found.nan_count, fraction != 0 ? 1u : 0u);
      EXPECT_EQ(found.infinity_count, fraction == 0 ? 1u : 0u);
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(found.sum, (bits & 0x8000) != 0 ? -magnitude : magnitude) << bits;
  }
}

TEST(TensorStatistics, EmptyAndSingleOnes) {
  EXPECT_EQ(statistics_of(nullptr, ElementType::kFloat32, std::array<std::uint64_t, 2>{3, 0},
                          std::array<std::int64_t, 2>{1, 1})
                .count,
            0u);
  EXPECT_EQ(statistics_of(nullptr, ElementType::kFloat32, std::array<std::uint64_t, 2>{0, 3},
                          std::array<std::int64_t, 2>{1, 1})
                .count,
            0u);
  const double value = -2.5;
  const TensorStatistics found = statistics_of(&value, ElementType::kFloat64, {}, {});
  EXPECT_EQ(found.count, 1u);
  EXPECT_EQ(found.norm(), 2.5);
}

TEST(TensorStatistics, UnalignedDataIsRead) {
  std::vector<char> bytes(1 + 9 * sizeof(double));
  for (int i = 0; i < 9; ++i) {
    const double value = i;
    std::memcpy(bytes.data() + 1 + static_cast<std::size_t>(i) * sizeof value, &value,
                sizeof value);
  }
  const TensorStatistics found = statistics_of(bytes.data() + 1, ElementType::kFloat64,
                                               std::array<std::uint64_t, 1>{9},
                                               std::array<std::int64_t, 1>{1});
  EXPECT_EQ(found.sum, 36.0);
}

/// Against a loop that asks for every element by its indices.
TEST(TensorStatistics, AnyStridesGiveTheElementsThatTheyReach) {
  std::mt19937 random(7);
  std::vector<float> memory(4096);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000);
  for (int round = 0; round < 500; ++round) {
    const std::size_t dimensions = 1 + random() % 4;
    std::array<std::uint64_t, 4> extents{};
    std::array<std::int64_t, 4> strides{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      extents[d] = 1 + random() % 6;
      strides[d] = static_cast<std::int64_t>(random() % 161) - 80;
    }
    if (round % 3 == 0) strides[dimensions - 1] = 1;
    const float* origin = memory.data() + 2048;
    double sum = 0;
    double squares = 0;
    double least = kInfinity;
    double most = -kInfinity;
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < dimensions; ++d) count *= extents[d];
    for (std::uint64_t i = 0; i < count; ++i) {
      std::int64_t offset = 0;
      std::uint64_t rest = i;
      for (std::size_t d = dimensions; d-- > 0; rest /= extents[d])
        offset += static_cast<std::int64_t>(rest % extents[d]) * strides[d];
      const double value = origin[offset];
      sum += value;
      squares += value * value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const TensorStatistics found = statistics_of(origin, ElementType::kFloat32,
                                                 std::span(extents).first(dimensions),
                                                 std::span(strides).first(dimensions));
    ASSERT_EQ(found.count, count);
    ASSERT_EQ(found.sum, sum) << "whole numbers add up exactly";
    ASSERT_EQ(found.sum_of_squares, squares);
    ASSERT_EQ(found.min, least);
    ASSERT_EQ(found.max, most);
  }
}

TEST(TensorStatistics, ShapesOfTheSameElementsGiveTheSame) {
  // Rows one behind the other, in any number of dimensions, padded ones, and every second column.
  std::vector<float> values(4096 + 64);
  std::mt19937 random(9);
  std::uniform_real_distribution<float> uniform(-5.0F, 5.0F);
  std::ranges::generate(values, [&] { return uniform(random); });
  const auto take = [&](std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides) {
    return statistics_of(values.data(), ElementType::kFloat32, extents, strides);
  };
  const TensorStatistics whole = take({4096}, {1});
  EXPECT_EQ(whole.count, 4096u);
  for (const TensorStatistics& same :
       {take({64, 64}, {64, 1}), take({2, 1, 32, 64}, {2048, 7, 64, 1}), take({1024, 4}, {4, 1})}) {
    EXPECT_EQ(same.count, whole.count);
    EXPECT_EQ(same.sum, whole.sum);
    EXPECT_EQ(same.sum_of_squares, whole.sum_of_squares);
  }
  const TensorStatistics turned = take({64, 64}, {1, 64});
  EXPECT_EQ(turned.min, whole.min);
  EXPECT_EQ(turned.max, whole.max);
  EXPECT_NEAR(turned.sum, whole.sum, 1e-9);
  const TensorStatistics padded = take({16, 200}, {260, 1});
  double sum = 0.0;
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t i = 0; i < 200; ++i) sum += static_cast<double>(values[row * 260 + i]);
  }
  EXPECT_EQ(padded.count, 3200u);
  EXPECT_NEAR(padded.sum, sum, 1e-9);
}

TEST(TensorStatistics, RowsJoinForAnySignOfTheirStrides) {
  std::vector<double> values(600);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i * 37 % 101) - 50.0;
  const auto sum_of = [&](const double* origin, std::vector<std::uint64_t> extents,
                          std::vector<std::int64_t> strides) {
    const TensorStatistics found = statistics_of(origin, ElementType::kFloat64, extents, strides);
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : extents) elements *= extent;
    EXPECT_EQ(found.count, elements);
    return found.sum;
  };
  const auto wanted = [&](std::initializer_list<std::size_t> indices) {
    double sum = 0.0;
    for (const std::size_t i : indices) sum += values[i];
    return sum;
  };
  const double* const end = values.data() + 599;
  double whole = 0.0;
  for (const double value : values) whole += value;
  EXPECT_EQ(sum_of(values.data(), {3, 200}, {200, 1}), whole);
  EXPECT_EQ(sum_of(end, {3, 200}, {-200, -1}), whole);                 // joined, backwards
  EXPECT_EQ(sum_of(values.data() + 400, {3, 200}, {-200, 1}), whole);  // not joined
  EXPECT_EQ(sum_of(values.data() + 199, {3, 200}, {200, -1}), whole);
  EXPECT_EQ(sum_of(values.data(), {3, 1, 200}, {200, -7, 1}),
            whole);  // through a dimension of one index
  EXPECT_EQ(sum_of(values.data() + 10, {2, 2}, {3, 1}),
            wanted({10, 11, 13, 14}));  // and what looks like joined rows and is none
  EXPECT_EQ(sum_of(values.data() + 10, {2, 2}, {2, -1}), wanted({10, 9, 12, 11}));
  EXPECT_EQ(sum_of(values.data() + 10, {2, 2}, {-2, 1}), wanted({10, 11, 8, 9}));
  EXPECT_EQ(sum_of(values.data(), {3, 5, 200}, {200, 0, 1}), 5 * whole);  // joined across repeats
  EXPECT_EQ(sum_of(values.data(), {5, 3, 200}, {0, 200, 1}), 5 * whole);
  EXPECT_EQ(sum_of(end, {3, 200, 5}, {-200, -1, 0}), 5 * whole);
  EXPECT_EQ(sum_of(values.data() + 10, {2, 3, 2}, {0, 1, 0}), 4 * wanted({10, 11, 12}));
}

TEST(TensorStatistics, WhatIsRepeatedIsReadOnce) {
  // Each would take hours, or for ever.
  const std::array<float, 3> values{-1.5F, std::numeric_limits<float>::quiet_NaN(), 2.0F};
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const auto take = [&](std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides) {
    return statistics_of(values.data(), ElementType::kFloat32, extents, strides);
  };
  const TensorStatistics one = take({kMany}, {0});
  EXPECT_EQ(one.count, kMany);
  EXPECT_EQ(one.sum, -1.5 * 0x1p40);
  EXPECT_EQ(one.norm(), 1.5 * 0x1p20);
  EXPECT_EQ(one.mean(), -1.5);
  const TensorStatistics rows = take({kMany, 3}, {0, 1});
  EXPECT_EQ(rows.count, 3 * kMany);
  EXPECT_EQ(rows.nan_count, kMany);
  EXPECT_EQ(rows.finite_count(), 2 * kMany);
  EXPECT_EQ(rows.min, -1.5);
  EXPECT_EQ(rows.max, 2.0);
  EXPECT_EQ(rows.mean(), 0.25);
  const TensorStatistics most = take({kMany, 3, kMany}, {0, 1, 0});
  EXPECT_EQ(most.count, UINT64_MAX / 3 * 3);
  EXPECT_EQ(most.nan_count, UINT64_MAX / 3);
  EXPECT_EQ(most.mean(), 0.25);
  EXPECT_EQ(take({kMany, 0}, {0, 1}).count, 0u);
  EXPECT_EQ(take({0, kMany}, {0, 0}).count, 0u);
}

TEST(TensorStatistics, TheGreatestNumbersAreTheirOwnMinAndMax) {
  constexpr double kMax = std::numeric_limits<double>::max();
  for (const std::size_t elements : {1U, 8U, 128U, 300U}) {
    for (const double value : {kMax, -kMax}) {
      const TensorStatistics found = of(std::vector<double>(elements, value),
                                        ElementType::kFloat64);
      EXPECT_EQ(found.min, value);
      EXPECT_EQ(found.max, value);
    }
  }
}

TEST(TensorStatistics, TheErrorOfSumsIsWithinItsBoundForAnyRows) {
  // A sum of 2^53 stays what it is when 1 is added, or less: the lane that has it loses its share,
  // and no other does.
  constexpr std::size_t kElements = 1U << 18;
  std::vector<double> values(kElements, 0.5);
  values[0] = 0x1p53;
  const long double exact = 0x1p53L + (kElements - 1) / 2.0L;
  const auto error_of = [&](std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides) {
    const TensorStatistics found = statistics_of(values.data(), ElementType::kFloat64, extents,
                                                 strides);
    return static_cast<double>(std::abs(static_cast<long double>(found.sum) - exact));
  };
  const double bound = (kElements / 8.0 + 16.0) * 0x1p-53 * static_cast<double>(exact);
  const auto all = static_cast<std::int64_t>(kElements);
  EXPECT_LE(error_of({kElements}, {1}), bound);
  EXPECT_LE(error_of({kElements / 2, 2}, {1, all / 2}),
            bound);  // rows of two, of one and of blocks with a rest
  EXPECT_LE(error_of({2, kElements / 2}, {all / 2, 1}), bound);
  EXPECT_LE(error_of({64, 2, kElements / 128}, {1, all / 2, 64}), bound);
}

TEST(TensorStatistics, PartsMerge) {
  const TensorStatistics first = of<double>({1, kNan}, ElementType::kFloat64);
  TensorStatistics all = of<double>({-3, kInfinity}, ElementType::kFloat64);
  all.merge(first);
  all.merge({});
  EXPECT_EQ(all.count, 4u);
  EXPECT_EQ(all.finite_count(), 2u);
  EXPECT_EQ(all.min, -3.0);
  EXPECT_EQ(all.max, 1.0);
  EXPECT_EQ(all.mean(), -1.0);
}

TEST(TensorStatistics, BytesOfElements) {
  EXPECT_EQ(element_bytes(ElementType::kFloat64), 8u);
  EXPECT_EQ(element_bytes(ElementType::kBfloat16), 2u);
  EXPECT_EQ(element_bytes(ElementType::kUint8), 1u);
  EXPECT_EQ(element_bytes(ElementType::kInt32), 4u);
}

}  // namespace
}  // namespace megascope::kernels
