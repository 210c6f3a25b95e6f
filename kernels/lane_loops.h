// Text of the loops, included by the files that are compiled for one kind of processor each; not a
// header of its own. Uses vector extensions of GCC and Clang, which split vectors that are longer
// than the processor's.
#include <stdint.h>
#include <string.h>

namespace {

using megascope::kernels::FiniteLanes;
using megascope::kernels::kBlock;
using megascope::kernels::kLanes;

static_assert(kLanes == 8);
typedef float Floats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(64)));
typedef int32_t FloatBits __attribute__((vector_size(32)));
typedef int64_t DoubleBits __attribute__((vector_size(64)));

bool add_floats(const float* elements, FiniteLanes& lanes) noexcept {
  constexpr int32_t kExponent = 0x7F800000;  // exponent of NaN and infinity
  Doubles sum;
  Doubles squares;
  Floats min;
  memcpy(&sum, lanes.sum, sizeof sum);
  memcpy(&squares, lanes.sum_of_squares, sizeof squares);
  memcpy(&min, elements, sizeof min);
  Floats max = min;
  FloatBits bad{};
  for (size_t i = 0; i < kBlock; i += kLanes) {
    Floats values;
    FloatBits bits;
    memcpy(&values, elements + i, sizeof values);
    memcpy(&bits, elements + i, sizeof bits);
    const Doubles wide = __builtin_convertvector(values, Doubles);
    bad |= (bits & kExponent) == kExponent;
    min = values < min ? values : min;
    max = values > max ? values : max;
    sum += wide;
    squares += wide * wide;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (bad[lane] != 0) return false;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const double least = static_cast<double>(min[lane]);
    const double most = static_cast<double>(max[lane]);
    lanes.min[lane] = least < lanes.min[lane] ? least : lanes.min[lane];
    lanes.max[lane] = most > lanes.max[lane] ? most : lanes.max[lane];
  }
  memcpy(lanes.sum, &sum, sizeof sum);
  memcpy(lanes.sum_of_squares, &squares, sizeof squares);
  return true;
}

bool add_doubles(const double* elements, FiniteLanes& lanes) noexcept {
  constexpr int64_t kExponent = 0x7FF0000000000000;
  Doubles sum;
  Doubles squares;
  Doubles min;
  Doubles max;
  memcpy(&sum, lanes.sum, sizeof sum);
  memcpy(&squares, lanes.sum_of_squares, sizeof squares);
  memcpy(&min, lanes.min, sizeof min);
  memcpy(&max, lanes.max, sizeof max);
  DoubleBits bad{};
  for (size_t i = 0; i < kBlock; i += kLanes) {
    Doubles values;
    DoubleBits bits;
    memcpy(&values, elements + i, sizeof values);
    memcpy(&bits, elements + i, sizeof bits);
    bad |= (bits & kExponent) == kExponent;
    min = values < min ? values : min;
    max = values > max ? values : max;
    sum += values;
    squares += values * values;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (bad[lane] != 0) return false;
  }
  memcpy(lanes.sum, &sum, sizeof sum);
  memcpy(lanes.sum_of_squares, &squares, sizeof squares);
  memcpy(lanes.min, &min, sizeof min);
  memcpy(lanes.max, &max, sizeof max);
  return true;
}

}  // namespace
