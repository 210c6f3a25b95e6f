#include "kernels/finite_lanes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace megascope::kernels {
namespace {

std::vector<const LaneLoops*> all_loops() {
  std::vector<const LaneLoops*> loops{&kPlainLoops, &lane_loops()};
  if (loops_of_avx2() != nullptr) loops.push_back(loops_of_avx2());
  return loops;
}

template <class Element>
std::vector<Element> some_block(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<Element> element;
  std::vector<Element> block(kBlock + 1);
  for (Element& value : block) value = element(random);
  return block;
}

bool add(const LaneLoops& loops, const float* block, FiniteLanes& lanes) {
  return loops.add_floats(block, lanes);
}
bool add(const LaneLoops& loops, const double* block, FiniteLanes& lanes) {
  return loops.add_doubles(block, lanes);
}

/// For any instruction set of the processor, and wherever the elements lie.
template <class Element>
void expect_what_each_lane_took() {
  for (const LaneLoops* const loops : all_loops()) {
    FiniteLanes lanes;
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::vector<Element> block = some_block<Element>(seed);
      ASSERT_TRUE(add(*loops, block.data() + 1, lanes));
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      double least = std::numeric_limits<double>::infinity();
      double most = -least;
      double sum = 0.0;
      double squares = 0.0;
      for (unsigned seed = 0; seed < 3; ++seed) {
        const std::vector<Element> block = some_block<Element>(seed);
        for (std::size_t i = lane; i < kBlock; i += kLanes) {
          const double value = block[i + 1];
          least = std::min(least, value);
          most = std::max(most, value);
          sum += value;
          squares += value * value;
        }
      }
      EXPECT_EQ(lanes.min[lane], least);
      EXPECT_EQ(lanes.max[lane], most);
      EXPECT_NEAR(lanes.sum[lane], sum, 1e-12);
      EXPECT_NEAR(lanes.sum_of_squares[lane], squares, 1e-12);
    }
  }
}

TEST(FiniteLanes, TakeFloats) { expect_what_each_lane_took<float>(); }
TEST(FiniteLanes, TakeDoubles) { expect_what_each_lane_took<double>(); }

template <class Element>
void expect_nothing_of_what_is_not_finite() {
  const Element infinity = std::numeric_limits<Element>::infinity();
  for (const LaneLoops* const loops : all_loops()) {
    for (const Element bad : {infinity, -infinity, std::numeric_limits<Element>::quiet_NaN(),
                              std::numeric_limits<Element>::signaling_NaN()}) {
      for (std::size_t at = 0; at < kBlock; ++at) {
        std::vector<Element> block = some_block<Element>(1);
        block[at] = bad;
        FiniteLanes lanes;
        ASSERT_FALSE(add(*loops, block.data(), lanes)) << at;
        ASSERT_EQ(lanes.sum[at % kLanes], 0.0);
        ASSERT_EQ(lanes.min[0], std::numeric_limits<double>::max());
      }
    }
  }
}

TEST(FiniteLanes, LeaveFloatsThatAreNot) { expect_nothing_of_what_is_not_finite<float>(); }
TEST(FiniteLanes, LeaveDoublesThatAreNot) { expect_nothing_of_what_is_not_finite<double>(); }

TEST(FiniteLanes, TakeTheGreatestAndTheMinNumbers) {
  for (const LaneLoops* const loops : all_loops()) {
    std::vector<float> block(kBlock, std::numeric_limits<float>::max());
    block[9] = std::numeric_limits<float>::lowest();
    block[10] = std::numeric_limits<float>::denorm_min();
    FiniteLanes lanes;
    ASSERT_TRUE(loops->add_floats(block.data(), lanes));
    EXPECT_EQ(lanes.min[1], static_cast<double>(std::numeric_limits<float>::lowest()));
    EXPECT_EQ(lanes.max[1], static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(lanes.min[2], static_cast<double>(std::numeric_limits<float>::denorm_min()));
    EXPECT_TRUE(std::isfinite(lanes.sum_of_squares[0]));
  }
}

}  // namespace
}  // namespace megascope::kernels
