#include "synthetic_transformer.h"

#include "core/base/hash.h"
#include "plugin/capture/view.h"
#include "plugin/tensors/tensor_choice.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace megascope::test {
namespace {

using capture::CaptureRequest;
using capture::CaptureRequestKind;
using Extents = std::vector<std::uint64_t>;

constexpr std::array<std::string_view, 8> kNames{
    "qkv",   "attention.scores", "attention.context", "attention.output", "mlp1", "mlp2", "hidden",
    "tokens"};
constexpr std::size_t kTokens = 7;
constexpr std::int32_t kShards = 2;

struct Family {
  Extents whole;
  int split = -1;
};

Family family_of(std::size_t family, std::uint64_t sequences, std::uint64_t tokens) {
  using T = SyntheticTransformer;
  switch (family) {
    case 0:
      return {{sequences, tokens, T::kGroups, T::kQueries + 2, T::kSize}, 2};
    case 1:
      return {{sequences, T::kGroups * T::kQueries, tokens, tokens}, 1};
    case 2:
      return {{sequences, tokens, T::kGroups * T::kQueries, T::kSize}, 2};
    case 4:
      return {{sequences, tokens, T::kInner}, 2};
    case kTokens:
      return {{sequences, tokens}, -1};
    default:
      return {{sequences, tokens, T::kHidden}, -1};
  }
}

std::uint64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// A rank's part of a tensor, in memory as the program would have it.
struct Held {
  TensorView view;
  std::vector<float> values;
};

Held held(std::size_t family, std::int32_t layer, std::int32_t shard, std::int64_t step,
          std::uint64_t sequences, std::uint64_t tokens) {
  const Family facts = family_of(family, sequences, tokens);
  Extents part = facts.whole;
  if (facts.split >= 0) part[static_cast<std::size_t>(facts.split)] /= kShards;
  Held made;
  const std::uint64_t count = product(part);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t rest = i;
    std::uint64_t whole = 0;
    std::uint64_t scale = 1;
    for (std::size_t d = part.size(); d-- > 0;) {
      std::uint64_t at = rest % part[d];
      rest /= part[d];
      if (static_cast<int>(d) == facts.split) at += static_cast<std::uint64_t>(shard) * part[d];
      whole += at * scale;
      scale *= facts.whole[d];
    }
    made.values.push_back(SyntheticTransformer::element(step, family, layer, whole));
  }
  TensorShape& shape = made.view.shape;
  shape.kind = family == kTokens ? TensorKind::kInputTokens : TensorKind::kActvOut;
  shape.layer = family == kTokens ? kNoLayer : layer;
  shape.micro_batch = 0;
  shape.split_dimension = static_cast<std::int8_t>(facts.split);
  shape.dimension_count = static_cast<std::uint8_t>(part.size());
  std::int64_t stride = 1;
  for (std::size_t d = part.size(); d-- > 0; stride *= static_cast<std::int64_t>(part[d])) {
    shape.extents[d] = part[d];
    made.view.strides[d] = stride;
  }
  made.view.name = kNames[family];
  made.view.step = step;
  made.view.data = made.values.data();
  return made;
}

/// As Capture::show().
void show(const CaptureRequest& capture_request, const TensorView& tensor,
          const tensors::Layout& layout, capture::RankUpdateWriter& writer) {
  std::string problem;
  const std::optional<TensorView> flat = capture::flattened(
      tensor, capture_request.kind == CaptureRequestKind::kTile ? capture_request.keep : 0,
      problem);
  const std::optional<capture::Spread> spread = flat ? capture::spread_of(*flat, layout, problem)
                                                     : std::nullopt;
  if (spread && !spread->is_first_copy) return;
  std::optional<capture::ViewPart> part = spread ? capture::make_part(capture_request, *flat,
                                                                      *spread, problem)
                                                 : std::nullopt;
  if (!part)
    return static_cast<void>(
        writer.add(capture::Notice{capture_request.id, std::string(tensor.name) + " " + problem}));
  part->capture_request = capture_request.id;
  part->key = not_zero(combined(std::hash<std::string_view>()(tensor.name),
                                static_cast<std::uint64_t>(tensor.shape.layer)));
  part->step = tensor.step;
  part->realtime_ns = 1;
  writer.add(capture::TensorName{.key = part->key,
                                 .layer = tensor.shape.layer,
                                 .kind = tensor.shape.kind,
                                 .type = ElementType::kFloat32,
                                 .name = std::string(tensor.name),
                                 .shape = part->full_shape});
  writer.add(*part);
}

bool is_of(const CaptureRequest& capture_request, const TensorView& tensor) {
  const bool is_kind = capture_request.tensor_kind == capture::kAnyKind ||
                       capture_request.tensor_kind == static_cast<std::uint8_t>(tensor.shape.kind);
  const bool is_layer = tensor.shape.layer >= capture_request.first_layer &&
                        tensor.shape.layer <= capture_request.last_layer;
  return (capture_request.kind == CaptureRequestKind::kTile ||
          capture_request.kind == CaptureRequestKind::kWhole) &&
         is_kind && is_layer && tensors::matches(capture_request.pattern(), tensor.name);
}

}  // namespace

std::vector<LiveRank> SyntheticTransformer::ranks() {
  std::vector<LiveRank> ranks;
  for (std::int32_t rank = 0; rank < kRanks; ++rank)
    ranks.push_back(
        {rank, "node", 1000 + rank,
         "pp " + std::to_string(rank / kShards) + ", tp " + std::to_string(rank % kShards)});
  return ranks;
}

std::vector<std::byte> SyntheticTransformer::rank_update(
    std::int32_t rank, std::int64_t step, std::uint64_t sequences, std::uint64_t tokens,
    const std::vector<CaptureRequest>& capture_requests, capture::RankUpdateWriter writer) {
  const tensors::Layout layout = tensors::Layout::of(
      {{"pp", rank / kShards, kShards}, {"tp", rank % kShards, kShards}}, rank, kRanks);
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    if (layer * 2 / kLayers != rank / kShards) continue;
    for (std::size_t family = 0; family < kNames.size(); ++family) {
      if (family == kTokens && layer != 0) continue;
      Held tensor;
      for (const CaptureRequest& capture_request : capture_requests) {
        if (tensor.values.empty())
          tensor = held(family, layer, rank % kShards, step, sequences, tokens);
        if (is_of(capture_request, tensor.view)) show(capture_request, tensor.view, layout, writer);
      }
    }
  }
  return writer.take();
}

}  // namespace megascope::test
