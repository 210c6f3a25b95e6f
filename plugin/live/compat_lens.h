#pragma once

#include "plugin/live/compat_numbers.h"
#include "plugin/live/compat_requests.h"
#include "plugin/live/fused_qkv.h"
#include "plugin/live/joiner.h"
#include "plugin/live/npy_file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

/// The most numbers that one `update` holds.
inline constexpr std::uint64_t kMostCompatNumbers = std::uint64_t{1} << 20;

/// How the tensors of one flag become what a client of the compatibility endpoint expects of it.
/// Pure.
class CompatLens {
 public:
  /// vector: of a projection, rows normalised; else null.
  CompatLens(const WantedFlag& wanted, CompatForm form, std::shared_ptr<const NpyArray> vector);
  CompatFlag flag() const { return wanted_.flag; }
  /// What to ask the ranks for now, without a name.
  tensors::Wish wish() const;
  /// A tensor of this shape is one of it. True: what wish() says is another by that, and views that
  /// were asked for before are none to show.
  bool learn(const std::vector<std::uint64_t>& shape);
  /// layer: from 0. problem: why it can't be shown. At least 3 dimensions and at most
  /// kMostCompatNumbers come.
  std::optional<Numbers> look(const View& view, std::int32_t layer, std::string& problem) const;
  /// Dimensions of what comes that are tokens of the text: of which rows there are, and those that
  /// say how far the text goes (of attention: keys).
  struct TokenDimensions {
    std::size_t rows = 0;
    std::size_t counted = 0;
  };
  TokenDimensions token_dimensions(const Numbers& numbers) const;
  /// What comes has positions under its tokens ([2, sequences, tokens]).
  bool has_positions() const {
    const CompressorKind kind = wanted_.compressor.kind;
    return wanted_.flag == CompatFlag::kInputTokens &&
           (kind == CompressorKind::kNoOp || kind == CompressorKind::kEmpty);
  }
  /// An update's `args`.
  std::vector<std::uint64_t> args_of(const Numbers& numbers) const;

  /// Known once a view came: sequences and tokens.
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
  bool is_known_ = false;  ///< whether it is fused
  std::string problem_;
  std::uint64_t sequences_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace megascope::live
