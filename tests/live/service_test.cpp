#include "plugin/live/server/service.h"

#include "plugin/capture/rank_update.h"
#include "plugin/steps/step_block.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>
#include <atomic>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

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
        std::vector<std::byte> capture_requests;
        while (service.take(LiveKind::kRankUpdate, 0, bytes)) {
          (void)service.changed_capture_requests(capture_requests);
          ++taken;
        }
      });
      while (taken < 10) std::this_thread::yield();
      std::thread closes_too([&] { service.close(is_aborted, 100); });
      service.close(is_aborted, 100);
      closes_too.join();
      other.join();
      EXPECT_FALSE(service.take(LiveKind::kRankUpdate, 0, {}));
    }
  }
}

/// What a client of the service reads until it is closed.
class Reader {
 public:
  explicit Reader(const std::string& url) {
    const std::size_t colon = url.rfind(':');
    const std::string port = url.substr(colon + 1, url.find('/', colon) - colon - 1);
    boost::asio::connect(socket_.next_layer(),
                         boost::asio::ip::tcp::resolver(context_).resolve("127.0.0.1", port));
    socket_.handshake("127.0.0.1", "/ws/v1?token=" + url.substr(url.find('=') + 1));
  }
  nlohmann::json end() {
    nlohmann::json message;
    do message = next();
    while (message["type"] != "end");
    return message;
  }
  nlohmann::json next() {
    boost::beast::flat_buffer buffer;
    socket_.read(buffer);
    return nlohmann::json::parse(boost::beast::buffers_to_string(buffer.data()));
  }

 private:
  boost::asio::io_context context_;
  boost::beast::websocket::stream<boost::asio::ip::tcp::socket> socket_{context_};
};

TEST(LiveService, WhatIsHandedOverJustBeforeTheEndIsReported) {
  constexpr int kSteps = 100;
  capture::RankUpdateWriter names;
  for (std::uint64_t key = 1; key <= 3000; ++key) {
    capture::TensorName name;
    name.key = key;
    name.name = "tensor" + std::to_string(key);
    names.add(name);
  }
  const std::vector<std::byte> rank_update = names.take();
  for (int time = 0; time < 20; ++time) {
    Service service;
    std::string url;
    ASSERT_TRUE(service.open(LiveSettings(), url).is_ok());
    Reader reader(url);
    for (int step = 0; step < kSteps; ++step) {
      steps::StepHeader header;
      header.slots = steps::kMinSlots;
      header.lowest_step = header.highest_step = step;
      header.lowest_layout = header.highest_layout = 0;
      std::vector<std::byte> block(steps::bytes_of_block(header.slots));
      steps::write_block(header, {}, block);
      ASSERT_TRUE(service.take(LiveKind::kBlock, 0, block));
      if (step % 10 != 0) continue;
      ASSERT_TRUE(service.take(LiveKind::kRankUpdate, 0, rank_update));  // keeps it busy
    }
    service.begin_end(false, 5000);
    EXPECT_EQ(reader.end()["steps"], kSteps);
    service.close(false, 5000);
  }
}

TEST(LiveService, AForkedChildSendsNoVerdict) {
  Service service;
  std::string url;
  ASSERT_TRUE(service.open(LiveSettings(), url).is_ok());
  Reader reader(url);
  service.begin_end(false, 5000);
  EXPECT_EQ(reader.end()["reason"], "finished");
  const pid_t child = fork();
  if (child == 0) {
    service.conclude("the child's");
    service.close(false, 5000);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  service.conclude("the parent's");
  service.conclude("another one");
  EXPECT_EQ(reader.next(), (nlohmann::json{{"type", "verdict"}, {"text", "the parent's"}}));
  service.close(false, 5000);
  service.conclude("a late one");
}

TEST(LiveService, AVerdictBeforeTheEndIsNotSent) {
  Service service;
  std::string url;
  ASSERT_TRUE(service.open(LiveSettings(), url).is_ok());
  Reader reader(url);
  service.conclude("too early");
  service.begin_end(false, 5000);
  EXPECT_EQ(reader.end()["reason"], "finished");
  service.conclude("in time");
  EXPECT_EQ(reader.next()["text"], "in time");
  service.close(false, 5000);
}

}  // namespace
}  // namespace megascope::live
