#pragma once

#include "core/base/clock.h"

#include <string>
#include <vector>

namespace megascope::run {

/// What MEGASCOPE_TEST_CLOCK says of one rank.
struct TestClocks {
  clock::TestClock mine;              ///< as it is where the list does not name the rank
  std::vector<std::string> problems;  ///< a sentence for each item that cannot be read
};
/// items: "<rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>]". Bounds: offset 10^15 ns, drift 10^5 ppm,
/// jitter 10^9 ns.
TestClocks read_test_clocks(const std::vector<std::string>& items, const std::string& rank);

}  // namespace megascope::run
