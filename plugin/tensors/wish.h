#pragma once

#include "core/record/point.h"
#include "kernels/tiles.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// What is to be captured, as clients of the live view asked for it and all ranks are told
/// (docs/live_protocol.md).
namespace megascope::tensors {

/// Append only, as all of Wish: told between processes of one build.
enum class WishKind : std::uint8_t { kCounters, kStatistics, kTile, kWhole, kCount };

inline constexpr std::uint8_t kAnyKind = 0xFF;
inline constexpr std::size_t kWishNameBytes = 72;  ///< with a final zero
inline constexpr std::size_t kMostWishes = 64;
inline constexpr std::uint64_t kMostWholeElements = 65'536;
inline constexpr std::uint32_t kMostTiles = 4096;
inline constexpr std::size_t kMostWishBytes = 16 + kMostWishes * 108;  ///< of pack_wishes()

/// Plain bytes, copied between processes.
struct Wish {
  std::uint32_t id = 0;  ///< given by who asks; parts carry it
  WishKind kind = WishKind::kCounters;
  std::uint8_t tensor_kind = kAnyKind;
  std::uint8_t reduction = 0;  ///< kernels::TileReduction
  std::uint8_t abs_flags = 0;  ///< bit 0: before, bit 1: after
  std::int32_t first_layer = std::numeric_limits<std::int32_t>::min();
  std::int32_t last_layer = std::numeric_limits<std::int32_t>::max();
  std::int32_t micro_batch = 0;  ///< tensors of no micro-batch match all
  std::uint32_t replica = 0;     ///< index along "dp"
  std::uint32_t every = 1;       ///< steps
  std::uint32_t tiles = 96;
  std::uint32_t keep = 0;  ///< leading dimensions that stay; those behind them are one, which is
                           ///< cut into tiles. 0: all but the last stay
  std::array<char, kWishNameBytes> name{};  ///< a pattern, zeros behind it

  std::string_view pattern() const { return name.data(); }
  kernels::TileMethod method() const;
};

void set_method(Wish& wish, const kernels::TileMethod& method);
/// False: the pattern is empty, too long for a wish, or has a zero in it.
bool set_pattern(Wish& wish, std::string_view pattern);

/// All wishes as bytes, and back. What is no list of wishes gives none; values out of range are
/// left out.
std::vector<std::byte> pack_wishes(std::span<const Wish> wishes);
std::vector<Wish> unpack_wishes(std::span<const std::byte> bytes);

}  // namespace megascope::tensors
