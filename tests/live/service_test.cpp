#include "plugin/live/service.h"

#include <array>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

using testing::StartsWith;

/// As MPI_Abort on one thread of the application while another is at a step (MPI_THREAD_MULTIPLE).
TEST(LiveService, MayBeClosedWhileAnotherThreadHandsOver) {
  for (const bool is_aborted : {true, false}) {
    for (int time = 0; time < 20; ++time) {
      Service service;
      std::string url;
      ASSERT_TRUE(service.open(LiveSettings(), url).is_ok());
      EXPECT_THAT(url, StartsWith("http://127.0.0.1:"));
      std::atomic<int> taken{0};
      std::thread other([&] {
        const std::array<std::byte, 100> bytes{};
        std::vector<std::byte> wishes;
        while (service.take(LiveKind::kLetter, 0, bytes)) {
          (void)service.changed_wishes(wishes);
          ++taken;
        }
      });
      while (taken < 10) std::this_thread::yield();
      std::thread closes_too([&] { service.close(is_aborted, 100); });
      service.close(is_aborted, 100);
      closes_too.join();
      other.join();
      EXPECT_FALSE(service.take(LiveKind::kLetter, 0, {}));
    }
  }
}

}  // namespace
}  // namespace megascope::live
