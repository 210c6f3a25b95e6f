#pragma once

#include "kernels/tiles.h"
#include "plugin/capture/capture_request.h"
#include "plugin/live/compat/numbers.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

/// Converts a fused tensor [sequences, tokens, groups, queries + 2, size], whose groups have
/// several queries, one key and one value, to rows of Q | K | V tiles. Each of Q, K and V gets a
/// third of the tiles (V the remainder) and is tiled separately; no tile mixes two of them. Ranks
/// send cells that divide every tile; tiles are computed from them exactly. Pure.
class FusedQkv {
 public:
  /// Returns the converter for a tensor. shape: extents of the global tensor. Returns nullopt with
  /// an empty `problem` if the tensor is not fused, and nullopt with a sentence in `problem` if it
  /// has too many cells.
  static std::optional<FusedQkv> of(const std::vector<std::uint64_t>& shape, std::uint32_t tiles,
                                    const kernels::TileMethod& method, std::string& problem);
  /// The capture request for the cells, with an empty pattern (CaptureRequest::name).
  capture::CaptureRequest capture_request() const;
  /// Number of values that tiles_of() returns for a view of this shape.
  std::uint64_t numbers_of(const std::vector<std::uint64_t>& shape) const;
  /// Computes the tiles of a view that was captured for capture_request(), of shape [sequences,
  /// tokens, groups, queries + 2, cells]. The result has the shape [sequences, tokens, tiles].
  /// Tiles without elements are NaN, where Q, K or V has fewer elements than tiles. Returns nullopt
  /// if the view has another shape.
  std::optional<Numbers> tiles_of(const Numbers& view) const;

 private:
  /// Q, K or V within a group.
  struct Section {
    std::uint64_t first = 0;  ///< first head in the group
    std::uint64_t count = 0;
    std::uint64_t tiles = 0;
    std::uint64_t width = 1;  ///< elements in a tile
  };
  void add_section(const Section& section, const float* row, float* to) const;

  std::uint64_t groups_ = 0;
  std::uint64_t heads_ = 0;  ///< heads in a group: queries + 2
  std::uint64_t size_ = 0;
  std::uint64_t cell_ = 1;  ///< elements in a cell
  std::array<Section, 3> sections_;
  kernels::TileMethod method_;
};

}  // namespace megascope::live
