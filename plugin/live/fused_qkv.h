#pragma once

#include "kernels/tiles.h"
#include "plugin/live/compat_numbers.h"
#include "plugin/tensors/wish.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

/// A tensor [sequences, tokens, groups, queries + 2, size], where each group has its queries, one
/// key and one value, as a row of Q | K | V tiles: each of the three gets a third of the tiles (the
/// last what is left), each is cut by itself, and no tile mixes two of them. Ranks send cells that
/// divide all tiles; here they become tiles, exactly. Pure.
class FusedQkv {
 public:
  /// shape: of the whole tensor. nullopt: it is none, or its cells would be too many; `problem`
  /// says so, and is empty where it is none.
  static std::optional<FusedQkv> of(const std::vector<std::uint64_t>& shape, std::uint32_t tiles,
                                    const kernels::TileMethod& method, std::string& problem);
  /// What to ask the ranks for, without a name.
  tensors::Wish wish() const;
  /// How many numbers tiles_of() makes of a view of this shape.
  std::uint64_t numbers_of(const std::vector<std::uint64_t>& shape) const;
  /// view: [sequences, tokens, groups, queries + 2, cells] as that wish gives it; else nullopt.
  /// Result: [sequences, tokens, tiles], NaN where Q, K or V has fewer elements than tiles.
  std::optional<Numbers> tiles_of(const Numbers& view) const;

 private:
  /// Q, K or V in each group.
  struct Section {
    std::uint64_t first = 0;  ///< of the heads in a group
    std::uint64_t count = 0;
    std::uint64_t tiles = 0;
    std::uint64_t width = 1;  ///< elements a tile
  };
  void add_section(const Section& section, const float* row, float* to) const;

  std::uint64_t groups_ = 0;
  std::uint64_t heads_ = 0;  ///< in a group: queries + 2
  std::uint64_t size_ = 0;
  std::uint64_t cell_ = 1;  ///< elements
  std::array<Section, 3> sections_;
  kernels::TileMethod method_;
};

}  // namespace megascope::live
