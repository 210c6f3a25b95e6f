#pragma once

#include "plugin/live/compat/fused_qkv.h"
#include "plugin/live/compat/numbers.h"
#include "plugin/live/compat/requests.h"
#include "plugin/live/projection/npy_file.h"
#include "plugin/live/views/view_assembler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

/// Maximum number of values in one `update`.
inline constexpr std::uint64_t kMaxCompatNumbers = std::uint64_t{1} << 20;

/// Converts the tensors of one flag to the values that a client of the compatibility endpoint
/// expects. Pure.
class CompatLens {
 public:
  /// vector: projection vectors with normalized rows; null if the compressor is not a projection.
  CompatLens(const WantedFlag& wanted, CompatForm form, std::shared_ptr<const NpyArray> vector);
  CompatFlag flag() const { return wanted_.flag; }
  /// The capture request for the current knowledge of the shape, without a name.
  capture::CaptureRequest capture_request() const;
  /// Reports the shape of a tensor. Returns true if capture_request() has changed; views captured
  /// for the earlier request must then be ignored.
  bool learn(const std::vector<std::uint64_t>& shape);
  /// Converts a view. layer: from 0. On success the result has at least 3 dimensions and at most
  /// kMaxCompatNumbers values. nullopt: `problem` says why the view cannot be shown.
  std::optional<Numbers> look(const View& view, std::int32_t layer, std::string& problem) const;
  /// The token dimensions of a result: `rows` is the dimension whose entries are sent, `counted`
  /// the one that shows the length of the text (for attention: keys).
  struct TokenDimensions {
    std::size_t rows = 0;
    std::size_t counted = 0;
  };
  TokenDimensions token_dimensions(const Numbers& numbers) const;
  /// Whether the result has positions below its tokens, as [2, sequences, tokens].
  bool has_positions() const {
    const CompressorKind kind = wanted_.compressor.kind;
    return wanted_.flag == CompatFlag::kInputTokens &&
           (kind == CompressorKind::kNoOp || kind == CompressorKind::kEmpty);
  }
  /// The field `args` of an update.
  std::vector<std::uint64_t> args_of(const Numbers& numbers) const;

  /// Number of sequences, and of tokens; 0 before the first view.
  std::uint64_t sequences() const { return sequences_; }
  std::uint64_t tokens() const { return tokens_; }

 private:
  bool is_fused_wanted() const {
    return wanted_.flag == CompatFlag::kQkv && wanted_.compressor.kind == CompressorKind::kTile;
  }
  bool has_pixels() const {
    return form_ == CompatForm::kMegatronApp && wanted_.compressor.kind == CompressorKind::kTile;
  }
  std::string why_not(const View& view) const;
  std::uint64_t numbers_of(const View& view) const;
  std::optional<Numbers> projected(const Numbers& numbers, std::int32_t layer,
                                   std::string& problem) const;

  WantedFlag wanted_;
  CompatForm form_;
  std::shared_ptr<const NpyArray> vector_;
  std::optional<FusedQkv> fused_;
  bool is_known_ = false;  ///< whether the tensor is a fused QKV tensor is known
  std::string problem_;
  std::uint64_t sequences_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace megascope::live
