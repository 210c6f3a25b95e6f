#include "kernels/finite_lanes.h"
#include "kernels/narrow_tiles.h"

namespace megascope::kernels {

#if defined(__x86_64__)
extern const LaneLoops kAvx2Loops;
void sum_float_tiles_with_avx2(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells);
namespace {
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
}  // namespace
const LaneLoops* loops_of_avx2() noexcept { return has_avx2() ? &kAvx2Loops : nullptr; }
SumFloatTiles sum_float_tiles_of_avx2() noexcept {
  return has_avx2() ? &sum_float_tiles_with_avx2 : nullptr;
}
#else
SumFloatTiles sum_float_tiles_of_avx2() noexcept { return nullptr; }
const LaneLoops* loops_of_avx2() noexcept { return nullptr; }
#endif

const LaneLoops& lane_loops() noexcept {
  static const LaneLoops& fastest = [&]() -> const LaneLoops& {
    const LaneLoops* const avx2 = loops_of_avx2();
    return avx2 != nullptr ? *avx2 : kPlainLoops;
  }();
  return fastest;
}

}  // namespace megascope::kernels
