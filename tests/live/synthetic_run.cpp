#include "synthetic_run.h"

#include "core/base/hash.h"
#include "kernels/tiles.h"
#include "plugin/steps/live_tail.h"
#include "plugin/tensors/tensor_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace megascope::test {
namespace {

using capture::CaptureRequest;
using capture::CaptureRequestKind;

constexpr std::array<std::string_view, 4> kFamilies{"attention/qkv", "mlp/fc1", "mlp/fc2",
                                                    "hidden"};
constexpr std::size_t kHidden = 3;  ///< not split: all ranks of a layer hold it
constexpr std::uint32_t kLoss = 0;
constexpr std::uint32_t kNorm = 1;
constexpr std::uint32_t kMemory = 2;

double noise(std::uint64_t seed) { return static_cast<double>(mix(seed) >> 11) * 0x1p-53 - 0.5; }

bool is_wanted(const CaptureRequest& capture_request, const capture::TensorName& name) {
  return name.layer >= capture_request.first_layer && name.layer <= capture_request.last_layer &&
         tensors::matches(capture_request.pattern(), name.name) &&
         (capture_request.tensor_kind == capture::kAnyKind ||
          capture_request.tensor_kind == static_cast<std::uint8_t>(name.kind));
}

}  // namespace

float SyntheticRun::element(std::int64_t step, std::size_t family, std::int32_t layer,
                            std::uint64_t token, std::uint64_t feature) {
  if (family == 1 && layer == 5 && token % 64 == 7 && feature < 16 && step % 50 >= 48)
    return step % 50 == 49 ? std::numeric_limits<float>::quiet_NaN()
                           : std::numeric_limits<float>::infinity();
  const double wave = std::sin(0.02 * static_cast<double>(feature) + 0.3 * layer +
                               0.05 * static_cast<double>(step)) *
                      std::cos(0.05 * static_cast<double>(token));
  const double rough = noise(
      combined(combined(static_cast<std::uint64_t>(layer), token), feature * 8 + family));
  return static_cast<float>((wave + rough) * (1.0 + 0.1 * layer) * (family == 1 ? 2.0 : 1.0));
}

double SyntheticRun::loss(std::int64_t step) {
  return 2.0 + 6.0 * std::exp(-static_cast<double>(step) / 150.0) +
         0.1 * noise(static_cast<std::uint64_t>(step));
}

steps::RankTimes SyntheticRun::times(std::int64_t step, std::int32_t rank) {
  const double slow = rank == 2 && step % 100 >= 60 ? 12.0 : 0.0;  // the others wait for it
  const double compute = 40.0 + slow + 2.0 * noise(static_cast<std::uint64_t>(step * 64 + rank));
  const double step_ms = 58.0 + (step % 100 >= 60 ? 12.0 : 0.0) +
                         noise(static_cast<std::uint64_t>(step));
  return {.step_ms = static_cast<float>(step_ms),
          .mpi_ms = static_cast<float>(step_ms - compute),
          .own_ms = 0.05F,
          .is_announced = 1};
}

std::vector<LiveRank> SyntheticRun::ranks() const {
  std::vector<LiveRank> ranks;
  for (std::int32_t rank = 0; rank < shape_.ranks; ++rank) {
    const std::string place = "pp " + std::to_string(rank / shards()) + ", tp " +
                              std::to_string(rank % shards());
    ranks.push_back({rank, "node" + std::to_string(rank / shards()), 1000 + rank, place});
  }
  return ranks;
}

capture::TensorName SyntheticRun::name_of(std::size_t family, std::int32_t layer) const {
  return {.key = not_zero(combined(family + 1, static_cast<std::uint64_t>(layer))),
          .layer = layer,
          .kind = TensorKind::kActvOut,
          .type = ElementType::kBfloat16,
          .name = std::string(kFamilies[family]),
          .shape = {shape_.tokens, shape_.width}};
}

steps::TensorSlot SyntheticRun::statistics(std::size_t family, std::int32_t layer,
                                           std::int64_t step) const {
  steps::TensorSlot slot{.key = name_of(family, layer).key,
                         .owner = 0,
                         .parts = 1,
                         .wanted_parts = 1,
                         .kind = static_cast<std::uint32_t>(TensorKind::kActvOut),
                         .statistics = {}};
  std::vector<float> row(std::min<std::uint64_t>(shape_.width, 64));
  for (std::uint64_t token = 7; token < shape_.tokens; token += 64) {  // a sample stands for all
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = element(step, family, layer, token, i);
    const std::array<std::uint64_t, 1> extents{row.size()};
    const std::array<std::int64_t, 1> strides{1};
    slot.statistics.merge(
        kernels::statistics_of(row.data(), ElementType::kFloat32, extents, strides));
  }
  if (slot.statistics.nan_count + slot.statistics.infinity_count != 0) slot.bad_rank = 0;
  return slot;
}

std::vector<std::byte> SyntheticRun::block(
    std::int64_t step, std::int64_t begin_ns,
    const std::vector<CaptureRequest>& capture_requests) const {
  std::vector<steps::TensorSlot> slots;
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    for (std::size_t family = 0; family < kFamilies.size(); ++family) {
      const capture::TensorName name = name_of(family, layer);
      if (std::ranges::any_of(capture_requests, [&](const CaptureRequest& capture_request) {
            return capture_request.kind == CaptureRequestKind::kStatistics &&
                   is_wanted(capture_request, name);
          }))
        slots.push_back(statistics(family, layer, step));
    }
  }
  std::ranges::sort(slots, {}, &steps::TensorSlot::key);
  steps::StepHeader header;
  header.slots = steps::kFirstSlots;
  header.tail_ranks = static_cast<std::uint32_t>(shape_.ranks);
  header.begin_realtime_ns = begin_ns;
  header.lowest_step = header.highest_step = step;
  header.lowest_next = header.highest_next = step + 1;
  header.lowest_layout = header.highest_layout = 1;
  std::vector<std::byte> block(steps::bytes_of_block(header.slots, header.tail_ranks));
  steps::write_block(header, slots, block);
  const std::span<std::byte> tail = steps::tail_of(std::span(block));
  for (std::int32_t rank = 0; rank < shape_.ranks; ++rank)
    steps::set_times(tail, static_cast<std::uint32_t>(rank), times(step, rank));
  return block;
}

void SyntheticRun::add_names(capture::RankUpdateWriter& rank_update, std::int32_t rank) const {
  if (rank == 0) {
    rank_update.add(capture::CounterName{kLoss, "loss", ""});
    rank_update.add(capture::CounterName{kNorm, "gradient norm", ""});
  }
  rank_update.add(capture::CounterName{kMemory, "memory", "MiB"});
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    if (layer * 2 / shape_.layers != rank / shards()) continue;
    for (std::size_t family = 0; family < kFamilies.size(); ++family)
      rank_update.add(name_of(family, layer));
  }
}

void SyntheticRun::add_counters(capture::RankUpdateWriter& rank_update, std::int32_t rank,
                                std::int64_t step) const {
  capture::CounterReadings values{
      .step = step,
      .ids = {kMemory},
      .values = {2048.0 + 64.0 * rank + static_cast<double>(step % 16)}};
  if (rank == 0) {
    values.ids.insert(values.ids.end(), {kLoss, kNorm});
    values.values.insert(values.values.end(),
                         {loss(step), 1.0 + 0.5 * noise(static_cast<std::uint64_t>(step) + 77)});
  }
  rank_update.add(values);
}

capture::ViewPart SyntheticRun::tiles(const CaptureRequest& capture_request, std::size_t family,
                                      std::int32_t layer, std::int32_t rank,
                                      std::int64_t step) const {
  const bool is_split = family != kHidden;
  const auto shard = static_cast<std::uint64_t>(is_split ? rank % shards() : 0);
  const auto parts = static_cast<std::uint64_t>(is_split ? shards() : 1);
  const auto grid = kernels::TileGrid::of(shape_.width, capture_request.tiles);
  const std::uint64_t begin = shape_.width * shard / parts;
  const std::uint64_t end = shape_.width * (shard + 1) / parts;
  const std::uint64_t first_tile = begin / grid.width;
  const std::uint64_t tile_count = (end - 1) / grid.width + 1 - first_tile;
  const bool has_states = capture_request.method().reduction == kernels::TileReduction::kStd;
  capture::ViewPart part = whole(capture_request, family, layer, rank, step);
  part.columns = has_states ? 3 : 1;
  part.whole_shape = {shape_.tokens, grid.count()};
  part.shape = {shape_.tokens, tile_count};
  part.tile_width = grid.width;
  part.tile_extent = grid.extent;
  if (is_split) part.stretches = {{0, first_tile, tile_count, begin, end - begin}};
  const std::vector<float> elements = std::move(part.elements);
  part.elements = {};
  for (std::uint64_t token = 0; token < shape_.tokens; ++token) {
    std::vector<kernels::TileState> states(tile_count);
    kernels::add_to_tiles(capture_request.method(), grid, ElementType::kFloat32,
                          elements.data() + token * (end - begin), 1, begin, end - begin,
                          first_tile, states.data());
    for (const kernels::TileState& made : states) {
      const kernels::TileState state = kernels::packed_tile(capture_request.method(), grid.width,
                                                            made);
      if (has_states) part.elements.push_back(static_cast<float>(state.count));
      part.elements.push_back(static_cast<float>(state.a));
      if (has_states) part.elements.push_back(static_cast<float>(state.b));
    }
  }
  return part;
}

capture::ViewPart SyntheticRun::whole(const CaptureRequest& capture_request, std::size_t family,
                                      std::int32_t layer, std::int32_t rank,
                                      std::int64_t step) const {
  const bool is_split = family != kHidden;
  const auto shard = static_cast<std::uint64_t>(is_split ? rank % shards() : 0);
  const auto parts = static_cast<std::uint32_t>(is_split ? shards() : 1);
  const std::uint64_t begin = shape_.width * shard / parts;
  const std::uint64_t end = shape_.width * (shard + 1) / parts;
  capture::ViewPart part;
  part.capture_request = capture_request.id;
  part.key = name_of(family, layer).key;
  part.step = step;
  part.micro_batch = 0;
  part.parts = parts;
  part.full_shape = part.whole_shape = {shape_.tokens, shape_.width};
  part.shape = {shape_.tokens, end - begin};
  if (is_split) {
    part.split_dimension = 1;
    part.stretches = {{0, begin, end - begin}};
  }
  part.elements.reserve(shape_.tokens * (end - begin));
  for (std::uint64_t token = 0; token < shape_.tokens; ++token) {
    for (std::uint64_t feature = begin; feature < end; ++feature)
      part.elements.push_back(shape_.gain * element(step, family, layer, token, feature));
  }
  return part;
}

std::vector<std::byte> SyntheticRun::rank_update(
    std::int32_t rank, std::int64_t step, std::int64_t now_ns,
    const std::vector<CaptureRequest>& capture_requests, bool has_names) const {
  capture::RankUpdateWriter rank_update;
  if (has_names) add_names(rank_update, rank);
  for (const CaptureRequest& capture_request : capture_requests) {
    if (capture_request.kind == CaptureRequestKind::kCounters) {
      add_counters(rank_update, rank, step);
      continue;
    }
    if (capture_request.kind == CaptureRequestKind::kStatistics ||
        step % capture_request.every != 0)
      continue;
    for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
      if (layer * 2 / shape_.layers != rank / shards()) continue;
      for (std::size_t family = 0; family < kFamilies.size(); ++family) {
        if (!is_wanted(capture_request, name_of(family, layer)) ||
            (family == kHidden && rank % shards() != 0))
          continue;
        if (capture_request.kind == CaptureRequestKind::kWhole &&
            shape_.tokens * shape_.width > capture::kMaxWholeElements) {
          rank_update.add(capture::Notice{
              capture_request.id,
              std::string(kFamilies[family]) + " has more elements than are shown whole"});
          continue;
        }
        capture::ViewPart part = capture_request.kind == CaptureRequestKind::kTile
                                     ? tiles(capture_request, family, layer, rank, step)
                                     : whole(capture_request, family, layer, rank, step);
        part.realtime_ns = now_ns;
        rank_update.add(part);
      }
    }
  }
  return rank_update.take();
}

}  // namespace megascope::test
