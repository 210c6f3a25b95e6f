#include "plugin/live/compat/lens.h"

#include <algorithm>
#include <utility>

namespace megascope::live {
namespace {

using capture::CaptureRequest;
using capture::CaptureRequestKind;

/// Leading dimensions that are kept: sequences and tokens.
constexpr std::uint32_t kKept = 2;

/// Appends the position of each input token.
void stack_positions(Numbers& numbers) {
  const std::uint64_t tokens = numbers.shape.empty() ? 1 : numbers.shape.back();
  const std::size_t count = numbers.values.size();
  numbers.shape = {2, tokens == 0 ? 0 : product_of(numbers.shape) / tokens, tokens};
  for (std::size_t i = 0; i < count; ++i) numbers.values.push_back(static_cast<float>(i % tokens));
}

}  // namespace

CompatLens::CompatLens(const WantedFlag& wanted, CompatForm form,
                       std::shared_ptr<const NpyArray> vector)
    : wanted_(wanted), form_(form), vector_(std::move(vector)), is_known_(!is_fused_wanted()) {}

CaptureRequest CompatLens::capture_request() const {
  if (fused_) return fused_->capture_request();
  CaptureRequest capture_request{.kind = CaptureRequestKind::kTile};
  const bool is_attention = wanted_.flag == CompatFlag::kScores;
  if (!is_known_ || wanted_.compressor.kind == CompressorKind::kEmpty) {
    capture_request.tiles = 1;
  } else if (wanted_.compressor.kind == CompressorKind::kTile) {
    capture_request.tiles = wanted_.compressor.tiles;
    capture_request.keep = is_attention ? 0 : kKept;
    set_method(capture_request, wanted_.compressor.method);
  } else {
    capture_request.tiles = capture::kMaxTiles;  // one element for each tile
  }
  return capture_request;
}

bool CompatLens::learn(const std::vector<std::uint64_t>& shape) {
  const bool is_attention = wanted_.flag == CompatFlag::kScores;
  const bool is_input = wanted_.flag == CompatFlag::kInputTokens;
  if (is_attention && shape.size() == 4) {
    sequences_ = shape[0];
    tokens_ = shape[2];
  } else if (shape.size() >= 3 || (is_input && shape.size() == 2)) {
    sequences_ = shape[0];
    tokens_ = shape[1];
  } else if (!shape.empty()) {
    sequences_ = 1;
    tokens_ = shape[0];
  }
  if (std::exchange(is_known_, true)) return false;
  fused_ = FusedQkv::of(shape, wanted_.compressor.tiles, wanted_.compressor.method, problem_);
  return true;
}

std::optional<Numbers> CompatLens::projected(const Numbers& numbers, std::int32_t layer,
                                             std::string& problem) const {
  const std::uint64_t size = numbers.shape.back();
  if (vector_ == nullptr || size != vector_->columns || layer < 0 ||
      static_cast<std::uint64_t>(layer) >= vector_->rows) {
    const std::string have = vector_ == nullptr ? "none"
                                                : "[" + std::to_string(vector_->rows) + ", " +
                                                      std::to_string(vector_->columns) + "]";
    problem = "the projection's vectors are " + have + " and do not include layer " +
              std::to_string(layer + 1) + " of size " + std::to_string(size) + "";
    return std::nullopt;
  }
  const float* const vector = vector_->values.data() + static_cast<std::uint64_t>(layer) * size;
  Numbers made{.shape = numbers.shape, .values = {}};
  made.shape.back() = 1;
  for (std::size_t at = 0; at < numbers.values.size(); at += size) {
    double sum = 0.0;
    for (std::uint64_t i = 0; i < size; ++i)
      sum += static_cast<double>(numbers.values[at + i]) * static_cast<double>(vector[i]);
    made.values.push_back(static_cast<float>(sum));
  }
  return made;
}

/// Checks a view before it is converted. Empty: it can be shown.
std::string CompatLens::why_not(const View& view) const {
  const CompressorKind kind = wanted_.compressor.kind;
  const bool is_as_it_is = kind == CompressorKind::kNoOp || kind == CompressorKind::kProjection;
  if (!problem_.empty()) return problem_;
  if (is_as_it_is && view.tile_width > 1 && !view.full_shape.empty())
    return "its last dimension has " + std::to_string(view.full_shape.back()) +
           " elements; at most " + std::to_string(capture::kMaxTiles) +
           " can be sent without reduction";
  const std::size_t dimensions = std::min(view.shape.size(), view.full_shape.size());
  if (wanted_.flag == CompatFlag::kScores && dimensions < 3)
    return "of " + std::to_string(dimensions) +
           " dimensions; attention needs heads, queries and keys";
  const std::uint64_t numbers = numbers_of(view);
  if (numbers <= kMaxCompatNumbers) return {};
  return std::to_string(numbers) + " values exceed the size of an update; request fewer tiles";
}

/// Number of values that look() produces.
std::uint64_t CompatLens::numbers_of(const View& view) const {
  const CompressorKind kind = wanted_.compressor.kind;
  if (kind == CompressorKind::kEmpty) return 0;
  if (fused_) return fused_->numbers_of(view.shape);
  const std::uint64_t row = view.shape.empty() ? 1 : view.shape.back();
  if (has_pixels() && row != 0)
    return view.values.size() / row * std::max<std::uint64_t>(row, wanted_.compressor.tiles);
  return view.values.size() * (has_positions() ? 2 : 1);
}

std::optional<Numbers> CompatLens::look(const View& view, std::int32_t layer,
                                        std::string& problem) const {
  const CompressorKind kind = wanted_.compressor.kind;
  problem = why_not(view);
  if (!problem.empty()) return std::nullopt;
  Numbers numbers{.shape = view.shape, .values = view.values};
  if (fused_) {
    std::optional<Numbers> tiles = fused_->tiles_of(numbers);
    if (!tiles) problem = "its shape has changed; request it again";
    return tiles;
  }
  if (kind == CompressorKind::kEmpty) numbers.shape = view.full_shape;
  if (has_positions())
    stack_positions(numbers);
  else if (wanted_.flag != CompatFlag::kScores)
    make_three_dimensions(numbers);
  if (kind == CompressorKind::kEmpty) {
    numbers.shape.back() = 0;
    numbers.values.clear();
  }
  if (kind == CompressorKind::kProjection) return projected(numbers, layer, problem);
  if (has_pixels())
    // MegatronApp's page expects rows of this length.
    widen_rows(numbers, wanted_.compressor.tiles);
  return numbers;
}

CompatLens::TokenDimensions CompatLens::token_dimensions(const Numbers& numbers) const {
  const std::size_t last = numbers.shape.size() - 1;
  if (has_positions()) return {.rows = last, .counted = last};
  return {.rows = last - 1, .counted = wanted_.flag == CompatFlag::kScores ? last : last - 1};
}

std::vector<std::uint64_t> CompatLens::args_of(const Numbers& numbers) const {
  if (form_ == CompatForm::kTracer) return numbers.shape;
  if (wanted_.flag == CompatFlag::kScores) return {numbers.shape.end() - 3, numbers.shape.end()};
  return {numbers.shape[1]};
}

}  // namespace megascope::live
