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
  /// wanted: the flag and how its tensors are reduced. form: the client's protocol. vector:
  /// projection vectors with normalized rows; null if the tensors are not projected.
  CompatLens(const WantedFlag& wanted, CompatForm form, std::shared_ptr<const NpyArray> vector);
  CompatFlag flag() const { return wanted_.flag; }
  /// Returns the capture request for the flag's tensors, with an empty pattern
  /// (CaptureRequest::name). For tiles of the QKV flag, the first call of learn() changes it,
  /// because the shape shows whether the tensor is a fused QKV tensor. Otherwise it never changes.
  capture::CaptureRequest capture_request() const;
  /// Sets the shape of the flag's tensors. shape: extents of a global tensor. Returns true if
  /// capture_request() has changed. The caller must then ignore views captured for the previous
  /// request.
  bool learn(const std::vector<std::uint64_t>& shape);
  /// Converts a view. layer: counted from 0. The result has at least 3 dimensions and at most
  /// kMaxCompatNumbers values. If the view cannot be shown, returns nullopt and sets `problem`.
  std::optional<Numbers> look(const View& view, std::int32_t layer, std::string& problem) const;
  /// Indices of the dimensions of a result that correspond to tokens.
  struct TokenDimensions {
    /// Dimension from which the entries to send are selected.
    std::size_t rows = 0;
    /// Dimension whose extent is the length of the text. For attention scores, that of the keys.
    std::size_t counted = 0;
  };
  TokenDimensions token_dimensions(const Numbers& numbers) const;
  /// Returns whether the result has the shape [2, sequences, tokens]: first the tokens, then the
  /// position of each token.
  bool has_positions() const {
    const CompressorKind kind = wanted_.compressor.kind;
    return wanted_.flag == CompatFlag::kInputTokens &&
           (kind == CompressorKind::kNoOp || kind == CompressorKind::kEmpty);
  }
  /// The field `args` of an update.
  std::vector<std::uint64_t> args_of(const Numbers& numbers) const;

  /// Returns the number of sequences; 0 before learn(). tokens() is the number of tokens.
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
