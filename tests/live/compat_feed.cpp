// Serves a synthetic transformer to clients of MegatronApp and Megatron's tensor tracer, which the
// program answers when they ask it to generate:
//   live_compat_feed [--port N] [--compat N] [--steps 1000] [--rate 20] [--vectors DIR]
//     [--directory DIR] [--control] [--polls] [--window N]
//     [--unauthenticated-rate BYTES] [--unauthenticated-cpu PERCENT]
// Prints the URL, what is said of the compatibility endpoint, then "request <text>" for each
// request. A prompt "fail" is answered with an error. Tokens are bytes; one is generated a step, of
// the last N of a text. In training there are 2 sequences of 6 tokens.
#include "feed_arguments.h"
#include "plugin/live/server/service.h"
#include "plugin/steps/step_block.h"
#include "synthetic_transformer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace {

using namespace megascope;
using Json = nlohmann::json;
using test::SyntheticTransformer;

constexpr std::uint64_t kSequences = 2;
constexpr std::uint64_t kTokens = 6;

Json token_of(int id, double probability) {
  return {{"id", id},
          {"token", std::string(1, static_cast<char>(id))},
          {"logit", 0.5},
          {"probability", probability}};
}

/// A text that is being generated.
struct Generation {
  Json request;
  std::vector<std::string> texts;
  std::int64_t made = 0;

  std::string start() const {
    Json prompts = Json::array();
    for (const std::string& text : texts) {
      Json tokens = Json::array();
      for (const char rank_update : text)
        tokens.push_back({{"id", rank_update}, {"token", std::string(1, rank_update)}});
      prompts.push_back(tokens);
    }
    return Json{{"id", request["id"]},
                {"type", "start"},
                {"prompts", prompts},
                {"layers", SyntheticTransformer::kLayers}}
        .dump();
  }
  std::string token(std::int64_t step) {
    const int id = 'a' + static_cast<int>(made++ % 26);
    Json sampled = Json::array();
    Json top = Json::array();
    for (std::string& text : texts) {
      text += static_cast<char>(id);
      sampled.push_back(token_of(id, 0.5));
      Json list = Json::array();
      for (int i = 0; i < 3; ++i) list.push_back(token_of('a' + i, 0.25));
      top.push_back(list);
    }
    return Json{{"id", request["id"]},
                {"type", "token"},
                {"step", step},
                {"sampled", sampled},
                {"top", top}}
        .dump();
  }
  std::string finish() const {
    return Json{{"id", request["id"]}, {"type", "finish"}, {"text", texts}}.dump();
  }
  bool is_whole() const { return made == request["tokens"].get<std::int64_t>(); }
  std::uint64_t length() const { return texts[0].size(); }
};

struct Feed {
  live::Service service;
  std::deque<std::vector<capture::CaptureRequest>>
      capture_requests = std::deque<std::vector<capture::CaptureRequest>>(
          3);  ///< of this step and the next ones
  std::optional<Generation> generation;
  bool has_polls = false;
  std::uint64_t window = 0;
  std::uint64_t refused = 0;

  void poll(capture::RankUpdateWriter& writer) {
    std::string text;
    if (generation || !service.next_request(text)) return;
    std::printf("request %s\n", text.c_str());
    std::fflush(stdout);
    Generation begun{.request = Json::parse(text), .texts = {}};
    begun.texts = begun.request["prompts"].get<std::vector<std::string>>();
    if (begun.texts[0] == "fail")
      return static_cast<void>(writer.add(capture::Reply{Json{
          {"id", begun.request["id"]},
          {"type", "error"},
          {"message", "it was told to"}}.dump()}));
    generation = std::move(begun);
    writer.add(capture::Reply{generation->start()});
  }
  void go_on(capture::RankUpdateWriter& writer, std::int64_t step) {
    if (!generation) return;
    writer.add(capture::Reply{generation->token(step)});
    if (generation->is_whole()) writer.add(capture::Reply{generation->finish()});
  }
  void step(std::int64_t step) {
    std::vector<std::byte> news;
    if (service.changed_capture_requests(news))
      capture_requests.back() = capture::unpack_capture_requests(news);
    for (std::int32_t rank = 0; rank < SyntheticTransformer::kRanks; ++rank) {
      capture::RankUpdateWriter writer;
      const std::uint64_t sequences = generation ? generation->texts.size() : kSequences;
      const std::uint64_t tokens = generation ? std::min(generation->length(), window) : kTokens;
      if (rank == SyntheticTransformer::kRanks - 1) go_on(writer, step);
      if (rank == 0 && has_polls && step == 0) writer.add(capture::Polls{});
      const std::vector<std::byte> rank_update = SyntheticTransformer::rank_update(
          rank, step, sequences, tokens, capture_requests.front(), std::move(writer));
      if (!rank_update.empty())
        refused += service.take(LiveKind::kRankUpdate, rank, rank_update) ? 0 : 1;
    }
    capture::RankUpdateWriter writer;
    if (generation && generation->is_whole()) generation.reset();
    if (has_polls) poll(writer);
    if (!writer.is_empty())
      refused += service.take(LiveKind::kRankUpdate, 0, writer.take()) ? 0 : 1;
    steps::StepHeader header;
    header.slots = steps::kFirstSlots;
    header.lowest_step = header.highest_step = step;
    header.lowest_next = header.highest_next = step + 1;
    header.lowest_layout = header.highest_layout = 1;
    std::vector<std::byte> block(steps::bytes_of_block(header.slots, 0));
    steps::write_block(header, {}, block);
    refused += service.take(LiveKind::kBlock, 0, block) ? 0 : 1;
    capture_requests.push_back(capture_requests.back());
    capture_requests.pop_front();
  }
};

}  // namespace

int main(int argc, char** argv) {
  test::FeedArguments arguments({{"--port", "0"},
                                 {"--compat", "0"},
                                 {"--steps", "1000"},
                                 {"--rate", "20"},
                                 {"--vectors", ""},
                                 {"--directory", ""},
                                 {"--hosts", ""},
                                 {"--window", "1000000"},
                                 {"--unauthenticated-rate", "1000000000"},
                                 {"--unauthenticated-cpu", "100"}},
                                {{"--control", false}, {"--polls", false}});
  if (!arguments.read(argc, argv)) {
    std::fprintf(stderr,
                 "live_compat_feed: unknown argument, or one without its value "
                 "(tests/live/compat_feed.cpp)\n");
    return 2;
  }
  const auto feed = std::make_unique<Feed>();
  feed->window = static_cast<std::uint64_t>(arguments.number("--window"));
  feed->has_polls = arguments.is_on("--polls");
  LiveSettings settings;
  settings.port = static_cast<std::uint16_t>(arguments.number("--port"));
  settings.compat_port = static_cast<std::uint16_t>(arguments.number("--compat"));
  settings.unauthenticated_bytes_per_second = static_cast<std::uint64_t>(
      arguments.number("--unauthenticated-rate"));
  settings.unauthenticated_cpu_percent = arguments.real("--unauthenticated-cpu");
  settings.is_control_allowed = arguments.is_on("--control");
  settings.vectors_directory = arguments.text("--vectors");
  settings.run_directory = arguments.text("--directory");
  if (!arguments.text("--hosts").empty()) settings.hosts = {arguments.text("--hosts")};
  settings.world_size = SyntheticTransformer::kRanks;
  settings.ranks = SyntheticTransformer::ranks();
  std::string url;
  const Status status = feed->service.open(settings, url);
  if (!status.is_ok()) {
    std::fprintf(stderr, "live_compat_feed: %s\n", status.message().c_str());
    return 1;
  }
  std::printf("%s\n%s\n", url.c_str(),
              feed->service.notes().empty() ? "" : feed->service.notes().front().c_str());
  std::fflush(stdout);
  const std::chrono::duration<double> pause(
      1.0 / static_cast<double>(std::max<std::int64_t>(1, arguments.number("--rate"))));
  auto next = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < arguments.number("--steps"); ++step) {
    feed->step(step);
    next += std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
    std::this_thread::sleep_until(next);
  }
  feed->service.close(false, 2000);
  std::printf("refused %llu\n", static_cast<unsigned long long>(feed->refused));
  return 0;
}
