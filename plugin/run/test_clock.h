#pragma once

#include "core/base/clock.h"

#include <string>
#include <vector>

namespace megascope::run {

/// The setting of MEGASCOPE_TEST_CLOCK for one rank.
struct TestClocks {
  clock::TestClock mine;              ///< unchanged if the list does not name the rank
  std::vector<std::string> problems;  ///< a sentence for each malformed item
};
/// Parses items "<rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>]". Limits on the magnitude: offset
/// 10^15 ns, drift 10^5 ppm, jitter 10^9 ns.
TestClocks read_test_clocks(const std::vector<std::string>& items, const std::string& rank);

}  // namespace megascope::run
