#pragma once

#include "core/trace/chunk_store.h"

#include <cstddef>

namespace megascope {

// A first chunk is small, for threads with few calls. Mapped chunks fit into a core's cache while
// they are written, added to the profile and packed. Written chunks are larger: each is one
// transfer to a network file system.
inline constexpr std::size_t kFirstChunkBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMappedChunkBytes = std::size_t{256} << 10;
inline constexpr std::size_t kWrittenChunkBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMinChunkBytes = std::size_t{16} << 10;

inline std::size_t chunk_bytes_for(trace::Backing backing) {
  return backing == trace::Backing::kMapped ? kMappedChunkBytes : kWrittenChunkBytes;
}

}  // namespace megascope
