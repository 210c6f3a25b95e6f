#include "kernels/finite_lanes.h"

namespace megascope::kernels {

#if defined(__x86_64__)
extern const LaneLoops kAvx2Loops;
const LaneLoops* loops_of_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kAvx2Loops : nullptr; }
#else
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
