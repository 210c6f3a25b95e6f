#include "kernels/finite_lanes.h"

#include "kernels/lane_loops.h"

namespace megascope::kernels {

const LaneLoops kPlainLoops{add_floats, add_doubles};

}  // namespace megascope::kernels
