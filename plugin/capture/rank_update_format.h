#pragma once

#include "core/lifecycle/tensor_sink.h"

#include <cstddef>
#include <cstdint>

/// Byte format of rank updates, shared by RankUpdateWriter and RankUpdateReader.
namespace megascope::capture {

/// The header that precedes each item.
struct RankUpdateHead {
  std::uint32_t item = 0;   ///< RankUpdateReader::Item
  std::uint32_t bytes = 0;  ///< size of the item without this head; a multiple of kRankUpdateAlign
};
inline constexpr std::size_t kRankUpdateAlign = 8;
inline constexpr std::size_t kMaxText = 4096;
inline constexpr std::size_t kMaxPartDimensions = kMaxTensorDimensions + 1;
inline constexpr std::size_t kMaxPartStretches = 4096;

/// The fixed-size fields of a ViewPart.
struct PartFields {
  std::uint64_t key;
  std::int64_t step;
  std::int64_t realtime_ns;
  std::uint64_t tile_width;
  std::uint64_t tile_extent;
  std::uint32_t capture_request;
  std::int32_t micro_batch;
  std::uint32_t replica;
  std::uint32_t parts;
  std::uint32_t columns;
  std::int32_t split_dimension;
  std::uint32_t copy;
  std::uint32_t reserved;
};

}  // namespace megascope::capture
