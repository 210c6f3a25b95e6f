#pragma once

#include "analysis/detect/work_units.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Finds ranks of a slow host that are slower than its other ranks. Finds only fewer than half of
/// the ranks, and only on hosts with four or more ranks. The findings are relative to the other
/// ranks: Finding::excess is in addition to that of the host. host: kHost.
std::vector<SlowUnit> slow_ranks_of_host(const WorkUnits& tested, const SlowUnit& host,
                                         const Options& options);

}  // namespace megascope::detect
