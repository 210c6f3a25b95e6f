#pragma once

#include "core/encoding/word_packer.h"
#include "core/trace/layout.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace megascope::trace {

/// Returns the checksum of a packed chunk: of all bytes of its header, with the checksum itself as
/// 0, and of its content. docs/trace_format.md has the arithmetic.
std::uint64_t checksum_of(const ChunkHeader& header, std::span<const std::byte> content) noexcept;

/// A full chunk as it is written to its place in the file. header.chunk_bytes is the size there.
struct SealedChunk {
  ChunkHeader header;
  const std::byte* content;

  std::size_t content_bytes() const noexcept {
    return header.used_bytes.load(std::memory_order_relaxed) - sizeof header;
  }
  /// Returns by how much the chunk would be larger in the file if it were not packed.
  std::size_t saved_bytes() const noexcept {
    if (header.packed_words == 0) return 0;
    return chunk_space(sizeof header + header.packed_words * sizeof(encoding::Word)) -
           header.chunk_bytes;
  }
};

/// Packs full chunks, with memory of its own, which is reserved when the first chunk is sealed. One
/// thread at a time. Does not allocate from the heap.
class ChunkSealer {
 public:
  ChunkSealer() = default;
  ~ChunkSealer();
  ChunkSealer(const ChunkSealer&) = delete;
  ChunkSealer& operator=(const ChunkSealer&) = delete;

  /// Makes `sealed` from a full chunk of calls or annotations. calls: number of its calls, or
  /// records of annotations. The content is valid until the next call of seal() or release(). The
  /// chunk is taken as it is, not packed, if packing does not make it smaller or if there is no
  /// memory.
  void seal(const ChunkHeader& chunk, std::uint64_t calls, SealedChunk& sealed) noexcept;

  /// Gives the memory back. seal() reserves it again.
  void release() noexcept;

 private:
  struct Memory;
  bool reserve(std::size_t content_bytes) noexcept;

  Memory* memory_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace megascope::trace
