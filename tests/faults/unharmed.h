#pragma once

#include "tests/faults/trial.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <sys/resource.h>

namespace megascope::faults {

inline constexpr std::uint64_t kManyCalls = 1'000'000;  // some 2.8 MB, packed
inline constexpr std::int64_t kManyBooked = kManyCalls + 2;

inline void limit(decltype(RLIMIT_FSIZE) what, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(what, &value);
}

/// The program's own output and code; returns what it printed on stderr.
inline std::string expect_unharmed(const Trial& trial) {
  const Ending ending = run(trial.preloaded());
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.signal, 0);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, std::to_string(kManyBooked) + " calls\n");
  return ending.err;
}

}  // namespace megascope::faults
