// Serves a synthetic run, for work on the page and for tests of the server:
//   live_feed [--port N] [--ranks 4] [--steps 1000] [--rate 20] [--layers 12] [--tokens 128]
//   [--width 384] [--directory DIR] [--linger MS]
//             [--gain 1] [--abort] [--hold] [--conclude MS] [--verdict TEXT]
// --hold: the first step waits for a line, or the end, of standard input.
// --conclude: the verdict is sent so many ms after the end.
// Prints the URL, and at the end what the server refused to take. A request takes effect two steps
// later, as in a job.
#include "feed_arguments.h"
#include "plugin/live/server/service.h"
#include "synthetic_run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <thread>

namespace {

using namespace megascope;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Feed {
  explicit Feed(const test::SyntheticRun::Shape& shape) : run(shape), ranks(shape.ranks) {}

  test::SyntheticRun run;
  std::int32_t ranks;
  live::Service service;
  std::deque<std::vector<capture::CaptureRequest>>
      capture_requests = std::deque<std::vector<capture::CaptureRequest>>(
          3);  ///< of this step and the next ones
  std::uint64_t refused = 0;

  void step(std::int64_t step, bool has_names) {
    std::vector<std::byte> news;
    if (service.changed_capture_requests(news)) {
      capture_requests.back() = capture::unpack_capture_requests(news);
      std::printf("step %lld: %zu requests\n", static_cast<long long>(step),
                  capture_requests.back().size());
      std::fflush(stdout);
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::byte> rank_update = run.rank_update(
          rank, step, now_ns(), capture_requests.front(), has_names);
      if (!rank_update.empty())
        refused += service.take(LiveKind::kRankUpdate, rank, rank_update) ? 0 : 1;
    }
    refused += service.take(LiveKind::kBlock, 0,
                            run.block(step, now_ns(), capture_requests.front()))
                   ? 0
                   : 1;
    capture_requests.push_back(capture_requests.back());
    capture_requests.pop_front();
  }
};

}  // namespace

int main(int argc, char** argv) {
  test::FeedArguments arguments({{"--port", "0"},
                                 {"--ranks", "4"},
                                 {"--steps", "1000"},
                                 {"--rate", "20"},
                                 {"--layers", "12"},
                                 {"--tokens", "128"},
                                 {"--width", "384"},
                                 {"--directory", ""},
                                 {"--linger", "2000"},
                                 {"--gain", "1"},
                                 {"--conclude", "-1"},
                                 {"--verdict", ""}},
                                {{"--abort", false}, {"--hold", false}});
  if (!arguments.read(argc, argv)) {
    std::fprintf(stderr,
                 "live_feed: unknown argument, or one without its value (tests/live/feed.cpp)\n");
    return 2;
  }
  const test::SyntheticRun::Shape shape{
      .ranks = static_cast<std::int32_t>(arguments.number("--ranks")),
      .layers = static_cast<std::int32_t>(arguments.number("--layers")),
      .tokens = static_cast<std::uint64_t>(arguments.number("--tokens")),
      .width = static_cast<std::uint64_t>(arguments.number("--width")),
      .gain = std::strtof(arguments.text("--gain").c_str(), nullptr)};
  const auto feed = std::make_unique<Feed>(shape);
  LiveSettings settings;
  settings.port = static_cast<std::uint16_t>(arguments.number("--port"));
  settings.run_directory = arguments.text("--directory");
  settings.program = "/opt/gpt/train";
  settings.command_line = "train --layers " + arguments.text("--layers");
  settings.run_id = "synthetic";
  settings.start_realtime_ns = now_ns();
  settings.world_size = shape.ranks;
  settings.ranks = feed->run.ranks();
  std::string url;
  const Status status = feed->service.open(settings, url);
  if (!status.is_ok()) {
    std::fprintf(stderr, "live_feed: %s\n", status.message().c_str());
    return 1;
  }
  std::printf("%s\n", url.c_str());
  std::fflush(stdout);
  const std::int64_t steps = arguments.number("--steps");
  const std::chrono::duration<double> pause(
      1.0 / static_cast<double>(std::max<std::int64_t>(1, arguments.number("--rate"))));
  if (arguments.is_on("--hold")) (void)std::getchar();
  auto next = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < steps; ++step) {
    feed->step(step, step == 0);
    next += std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
    std::this_thread::sleep_until(next);
  }
  const bool is_aborted = arguments.is_on("--abort");
  const auto linger_ms = static_cast<std::uint64_t>(arguments.number("--linger"));
  const std::int64_t until_verdict_ms = arguments.number("--conclude");
  if (until_verdict_ms >= 0) {
    feed->service.begin_end(is_aborted, linger_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(until_verdict_ms));
  }
  const auto closing = std::chrono::steady_clock::now();
  if (until_verdict_ms >= 0) feed->service.conclude(arguments.text("--verdict"));
  feed->service.close(is_aborted, linger_ms);
  const auto closed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::steady_clock::now() - closing)
                             .count();
  std::printf("closed in %lld ms\n", static_cast<long long>(closed_ms));
  std::printf("refused %llu\n", static_cast<unsigned long long>(feed->refused));
  return 0;
}
