#include "plugin/steps/capture_suspension.h"

#include "core/base/clock.h"

#include <gtest/gtest.h>

#include <vector>

/// Capture requests in effect, and what suspends and resumes them.
namespace megascope::steps {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct CaptureSuspensionTest : testing::Test {
  capture::Capture capture;
  CaptureSuspension suspension{capture};

  static std::vector<std::byte> requests_of(std::string_view pattern) {
    capture::CaptureRequest request;
    request.kind = capture::CaptureRequestKind::kStatistics;
    EXPECT_TRUE(capture::set_pattern(request, pattern));
    return capture::pack_capture_requests(std::vector{request});
  }
  bool is_captured(std::string_view name) { return capture.wanted_kinds(name) != 0; }
};

TEST_F(CaptureSuspensionTest, SuspendsWithoutStepsAndResumesWithTheNextOne) {
  suspension.suspend_after(1);
  suspension.apply(requests_of("w"));
  EXPECT_FALSE(suspension.suspend_if_due()) << "no step has begun";
  suspension.resume(clock::monotonic_ns() - 2, 0);
  EXPECT_TRUE(suspension.suspend_if_due());
  EXPECT_FALSE(is_captured("w"));
  EXPECT_FALSE(suspension.suspend_if_due()) << "reported once";
  suspension.resume(clock::monotonic_ns(), 0);
  EXPECT_TRUE(is_captured("w"));
}

TEST_F(CaptureSuspensionTest, WaitsForFourTimesTheLongestOfTheLastTwoSteps) {
  suspension.suspend_after(0);
  suspension.apply(requests_of("w"));
  suspension.resume(clock::monotonic_ns() - kSecond, kSecond);
  EXPECT_FALSE(suspension.suspend_if_due());
  suspension.resume(clock::monotonic_ns() - kSecond, 0);
  EXPECT_FALSE(suspension.suspend_if_due()) << "the step before was long";
  suspension.resume(clock::monotonic_ns() - kSecond, 0);
  EXPECT_TRUE(suspension.suspend_if_due());
}

TEST_F(CaptureSuspensionTest, SuspendsOnlyIfThereAreRequests) {
  suspension.suspend_after(0);
  suspension.apply(capture::pack_capture_requests({}));
  suspension.resume(clock::monotonic_ns() - 1, 0);
  EXPECT_FALSE(suspension.suspend_if_due());
}

TEST_F(CaptureSuspensionTest, NothingBringsCaptureBackAfterStop) {
  suspension.suspend_after(0);
  suspension.apply(requests_of("w"));
  EXPECT_TRUE(is_captured("w"));
  suspension.stop();
  EXPECT_FALSE(is_captured("w"));
  suspension.apply(requests_of("v"));
  suspension.resume(clock::monotonic_ns() - 1, 0);
  EXPECT_FALSE(suspension.suspend_if_due());
  EXPECT_FALSE(is_captured("v"));
  EXPECT_FALSE(is_captured("w"));
}

}  // namespace
}  // namespace megascope::steps
