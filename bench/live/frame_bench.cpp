// What one layer's tiles cost rank 0's live view on their way from two letters to a WebSocket
// frame, beside the same as JSON text, as the reference sends it. 4096 tokens of 96 tiles, means,
// float16. Counters: bytes sent.

#include "plugin/capture/rank_update.h"
#include "plugin/live/hub/hub.h"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope {
namespace {

constexpr std::uint64_t kTokens = 4096;
constexpr std::uint64_t kTiles = 96;
constexpr std::uint64_t kWidth = 32;

float value_at(std::uint64_t i) { return std::sin(static_cast<float>(i)) * 3.0F; }

/// Half of the columns, as sums of tiles.
std::vector<std::byte> rank_update_of(std::int32_t rank, std::int64_t step,
                                      std::uint32_t capture_request) {
  capture::ViewPart part;
  part.capture_request = capture_request;
  part.key = 1;
  part.step = step;
  part.micro_batch = 0;
  part.parts = 2;
  part.full_shape = {kTokens, kTiles * kWidth};
  part.whole_shape = {kTokens, kTiles};
  part.shape = {kTokens, kTiles / 2};
  part.split_dimension = 1;
  part.tile_width = kWidth;
  part.tile_extent = kTiles * kWidth;
  part.stretches = {{0, rank * (kTiles / 2), kTiles / 2}};
  for (std::uint64_t i = 0; i < kTokens * kTiles / 2; ++i)
    part.elements.push_back(value_at(i) * kWidth);
  capture::RankUpdateWriter rank_update;
  rank_update.add(capture::TensorName{.key = 1,
                                      .layer = 0,
                                      .kind = TensorKind::kActvOut,
                                      .type = ElementType::kBfloat16,
                                      .name = "mlp",
                                      .shape = part.full_shape});
  rank_update.add(part);
  return rank_update.take();
}

/// parts: letters are read, joined and finished too; else a view that is whole becomes a frame.
void tiles_to_frame(benchmark::State& state, bool parts) {
  LiveSettings settings;
  settings.world_size = 2;
  live::Hub hub(settings);
  const auto client = *hub.connect(0);
  hub.receive(
      client,
      R"({"type":"subscribe","panel":"t","what":"tensor","name":"mlp","view":{"type":"tile","tiles":96}})",
      0);
  std::vector<std::byte> capture_requests;
  hub.take_changed_capture_requests(capture_requests);
  const std::uint32_t capture_request = capture::unpack_capture_requests(capture_requests).at(0).id;
  std::size_t bytes = 0;
  std::int64_t step = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<std::byte> first = rank_update_of(0, step, capture_request);
    const std::vector<std::byte> second = rank_update_of(1, step, capture_request);
    hub.receive(client, R"({"type":"credit","panel":"t","frames":1})", step * 1'000'000'000);
    if (parts) state.ResumeTiming();
    hub.take_rank_update(0, first, step);
    hub.take_rank_update(1, second, step);
    if (!parts) state.ResumeTiming();
    live::Outgoing message;
    bool has_frame = false;
    while (!has_frame && hub.next(client, step, message)) has_frame = !message.is_text;
    benchmark::DoNotOptimize(message.frame.data());
    bytes = message.frame.size();
    ++step;
    if (!has_frame) return state.SkipWithError("no frame was made: this is not the cost of one");
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

void as_json_text(benchmark::State& state) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < kTokens * kTiles; ++i) values.push_back(value_at(i));
  std::size_t bytes = 0;
  for (auto _ : state) {
    const nlohmann::json message{{"update_type", 1},
                                 {"layer_id", 0},
                                 {"args", {1, kTokens, kTiles}},
                                 {"result", std::vector<double>(values.begin(), values.end())}};
    const std::string text = message.dump();
    bytes = text.size();
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

void copy_of_the_floats(benchmark::State& state) {
  const std::vector<float> values(kTokens * kTiles, 1.0F);
  for (auto _ : state) {
    std::vector<float> copy(values);
    benchmark::DoNotOptimize(copy.data());
  }
  state.counters["bytes"] = static_cast<double>(values.size() * sizeof(float));
}

BENCHMARK(copy_of_the_floats)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tiles_to_frame, serialise_and_frame, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tiles_to_frame, join_serialise_and_frame, true)->Unit(benchmark::kMillisecond);
BENCHMARK(as_json_text)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace megascope

BENCHMARK_MAIN();
