#include "core/trace/chunk_words.h"

#include "core/trace/sealed_chunk.h"

#include <atomic>
#include <cstring>

namespace megascope::trace {

std::span<const encoding::Word> ChunkWords::read(const TraceFile::Chunk& chunk) {
  if (!chunk.is_packed && chunk.may_change) return read_changing(chunk);
  if (!chunk.is_packed)
    return {reinterpret_cast<const encoding::Word*>(chunk.content.data()), chunk.word_count};
  if (unpacker_ == nullptr) unpacker_ = std::make_unique<encoding::WordUnpacker>();
  words_.resize(chunk.word_count);
  const bool is_whole = unpacker_->unpack(chunk.content, words_) &&
                        checksum_of(*chunk.header, chunk.content) == chunk.checksum;
  if (!is_whole) words_.clear();
  return words_;
}

/// Copies the words. A process changes the header of a chunk before its content.
std::span<const encoding::Word> ChunkWords::read_changing(const TraceFile::Chunk& chunk) {
  words_.resize(chunk.word_count);
  std::memcpy(words_.data(), chunk.content.data(), chunk.word_count * sizeof(encoding::Word));
  std::atomic_thread_fence(std::memory_order_acquire);
  const ChunkHeader& now = *chunk.header;
  const std::size_t used = now.used_bytes.load(std::memory_order_acquire);
  const bool is_same = now.kind != ChunkKind::kFree && now.sequence == chunk.sequence &&
                       now.base_ticks == chunk.base_ticks && now.packed_words == 0 &&
                       used >= sizeof now + chunk.content.size();
  if (!is_same) words_.clear();
  return words_;
}

}  // namespace megascope::trace
