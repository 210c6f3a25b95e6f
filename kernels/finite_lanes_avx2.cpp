#include "kernels/finite_lanes.h"
#include "kernels/lane_loops.h"

namespace megascope::kernels {

extern const LaneLoops kAvx2Loops;
const LaneLoops kAvx2Loops{add_floats, add_doubles};

}  // namespace megascope::kernels
