#include "plugin/live/model/capture_registry.h"

#include "plugin/live/protocol/bounds.h"

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

using capture::CaptureRequest;

CaptureRequest capture_request_of(int number) {
  CaptureRequest capture_request;
  capture_request.kind = capture::CaptureRequestKind::kStatistics;
  capture::set_pattern(capture_request, "tensor " + std::to_string(number));
  return capture_request;
}

/// Capture requests [begin, end).
std::vector<CaptureRequest> capture_requests(int begin, int end) {
  std::vector<CaptureRequest> made;
  for (int i = begin; i < end; ++i) made.push_back(capture_request_of(i));
  return made;
}

constexpr int kMax = static_cast<int>(capture::kMaxCaptureRequests);
constexpr int kMaxOfUnauthenticated = static_cast<int>(kMaxCompatCaptureRequests);

TEST(LiveCaptureRegistry, HoldsEachThingOnceAndNoMoreThanFit) {
  CaptureRegistry ledger;
  const auto all = ledger.add(capture_requests(0, kMax), From::kClient);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(ledger.add(capture_requests(0, kMax), From::kClient), all)
      << "the same again is under the same ids";
  EXPECT_FALSE(ledger.add(capture_requests(kMax, kMax + 1), From::kClient).has_value());
  EXPECT_TRUE(ledger.add(capture_requests(3, 4), From::kUnauthenticated).has_value())
      << "is there already";
  std::vector<std::byte> bytes;
  ASSERT_TRUE(ledger.take_changed(bytes));
  EXPECT_EQ(capture::unpack_capture_requests(bytes).size(), capture::kMaxCaptureRequests)
      << "nothing of what was refused is left";
}

TEST(LiveCaptureRegistry, WhatIsReplacedDoesNotCount) {
  CaptureRegistry ledger;
  const std::vector<std::uint32_t> most = ledger.add(capture_requests(0, kMax - 2), From::kClient)
                                              .value();
  const std::vector<std::uint32_t> mine = ledger.add(capture_requests(100, 102), From::kClient)
                                              .value();
  EXPECT_FALSE(ledger.add(capture_requests(200, 203), From::kClient, mine).has_value())
      << "three for two";
  const auto others = ledger.add(capture_requests(200, 202), From::kClient, mine);
  ASSERT_TRUE(others.has_value());
  ledger.release(mine, From::kClient);
  EXPECT_EQ(ledger.find(mine[0]), nullptr);
  EXPECT_NE(ledger.find((*others)[0]), nullptr);
  EXPECT_FALSE(ledger.add(capture_requests(300, 301), From::kClient).has_value());
}

TEST(LiveCaptureRegistry, UnauthenticatedHaveHalfOfIt) {
  CaptureRegistry ledger;
  const auto mine = ledger.add(capture_requests(0, kMaxOfUnauthenticated), From::kUnauthenticated);
  ASSERT_TRUE(mine.has_value());
  EXPECT_FALSE(ledger.add(capture_requests(500, 501), From::kUnauthenticated).has_value());
  EXPECT_TRUE(
      ledger.add(capture_requests(500, 501), From::kUnauthenticated, {mine->front()}).has_value())
      << "instead of another";
  ledger.release({mine->front()}, From::kUnauthenticated);
  EXPECT_TRUE(ledger.add(capture_requests(1000, 1000 + kMax - kMaxOfUnauthenticated), From::kClient)
                  .has_value())
      << "and the others the other half";
  EXPECT_FALSE(ledger.add(capture_requests(600, 601), From::kClient).has_value());
}

TEST(LiveCaptureRegistry, WhatUnauthenticatedShareWithClientsIsOfTheirHalfToo) {
  CaptureRegistry ledger;
  ASSERT_TRUE(ledger.add(capture_requests(0, kMaxOfUnauthenticated), From::kClient).has_value());
  const auto shared = ledger.add(capture_requests(0, kMaxOfUnauthenticated),
                                 From::kUnauthenticated);
  ASSERT_TRUE(shared.has_value());
  EXPECT_FALSE(ledger.add(capture_requests(100, 101), From::kUnauthenticated).has_value())
      << "else they had all once the client leaves";
  ledger.release(*shared, From::kClient);
  EXPECT_NE(ledger.find(shared->front()), nullptr) << "unauthenticated clients want it still";
  EXPECT_TRUE(ledger.add(capture_requests(200, 200 + kMax - kMaxOfUnauthenticated), From::kClient)
                  .has_value());
}

}  // namespace
}  // namespace megascope::live
