#include "core/hooks/window.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace megascope::hooks {
namespace {

TEST(StepWindows, HoldForEachStepByItself) {
  for (std::uint64_t start : {0u, 1u, 7u}) {
    for (std::uint64_t interval = 1; interval < 6; ++interval) {
      for (std::uint64_t length = 1; length < 8; ++length) {
        const StepWindow window{start, interval, length};
        std::vector<bool> wanted(64, false);
        for (std::uint64_t begin = start; begin < wanted.size(); begin += interval) {
          for (std::uint64_t step = begin; step < begin + length && step < wanted.size(); ++step)
            wanted[step] = true;
        }
        for (std::size_t step = 0; step < wanted.size(); ++step) {
          EXPECT_EQ(window.has(static_cast<std::int64_t>(step)), wanted[step])
              << start << " " << interval << " " << length << " " << step;
        }
        EXPECT_EQ(window.has_all(), start == 0 && std::ranges::find(wanted, false) == wanted.end());
      }
    }
  }
  EXPECT_TRUE((StepWindow{0, 1, 1}.has(INT64_MAX)));
  EXPECT_FALSE((StepWindow{std::uint64_t{1} << 62, 1, 1}.has(5)));
}

}  // namespace
}  // namespace megascope::hooks
