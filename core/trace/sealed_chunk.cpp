#include "core/trace/sealed_chunk.h"

#include "core/base/wiped_memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace megascope::trace {
namespace {

/// Four sums, one for each word in turn, so that a processor computes them at the same time.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    std::size_t at = 0;
    for (; at + kBlockBytes <= bytes.size(); at += kBlockBytes) add_block(bytes.data() + at);
    if (at == bytes.size()) return;
    std::byte last[kBlockBytes] = {};
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), last);
    add_block(last);
  }
  std::uint64_t value() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes_) sum = step(sum, lane);
    return sum;
  }

 private:
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kBlockBytes = kLanes * sizeof(std::uint64_t);
  static std::uint64_t step(std::uint64_t sum, std::uint64_t word) noexcept {
    const std::uint64_t product = (sum ^ word) * 0x9E3779B97F4A7C15;
    return product << 29 | product >> 35;
  }
  void add_block(const std::byte* from) noexcept {
    std::uint64_t words[kLanes];
    std::memcpy(words, from, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) lanes_[i] = step(lanes_[i], words[i]);
  }

  std::uint64_t lanes_[kLanes] = {1, 2, 3, 4};
};

}  // namespace

std::uint64_t checksum_of(const ChunkHeader& header, std::span<const std::byte> content) noexcept {
  std::byte bytes[sizeof header];
  std::memcpy(bytes, &header, sizeof header);
  std::memset(bytes + offsetof(ChunkHeader, checksum), 0, sizeof header.checksum);
  Checksum sum;
  sum.add(bytes);
  sum.add(content);
  return sum.value();
}

/// The state of packing, and after it the packed bytes.
struct ChunkSealer::Memory {
  encoding::WordPacker packer;
};

ChunkSealer::~ChunkSealer() { release(); }

void ChunkSealer::release() noexcept {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
  memory_ = nullptr;
}

bool ChunkSealer::reserve(std::size_t content_bytes) noexcept {
  const std::size_t bytes = chunk_space(sizeof(Memory)) + content_bytes;
  if (memory_ != nullptr && bytes <= mapped_bytes_) return true;
  release();
  void* const memory = unforked_memory(bytes);
  if (memory == nullptr) return false;
  memory_ = new (memory) Memory;
  mapped_bytes_ = bytes;
  return true;
}

void ChunkSealer::seal(const ChunkHeader& chunk, std::uint64_t calls,
                       SealedChunk& sealed) noexcept {
  std::memcpy(static_cast<void*>(&sealed.header), &chunk, sizeof chunk);
  sealed.content = reinterpret_cast<const std::byte*>(&chunk + 1);
  const std::size_t content_bytes = sealed.content_bytes();
  const std::size_t word_count = content_bytes / sizeof(encoding::Word);
  if (word_count == 0 || content_bytes > kMaxPackedChunkBytes || !reserve(content_bytes)) return;
  const std::span<std::byte> to(reinterpret_cast<std::byte*>(memory_) + chunk_space(sizeof(Memory)),
                                content_bytes);
  const auto content = chunk.kind == ChunkKind::kHooks ? encoding::WordPacker::Content::kHooks
                                                       : encoding::WordPacker::Content::kCalls;
  const std::size_t bytes = memory_->packer.pack({first_word(&chunk), word_count}, content, to);
  const std::size_t chunk_bytes = chunk_space(sizeof chunk + bytes);
  if (bytes == 0 || chunk_bytes >= chunk.chunk_bytes) return;
  sealed.header.used_bytes.store(sizeof chunk + bytes, std::memory_order_relaxed);
  sealed.header.chunk_bytes = static_cast<std::uint32_t>(chunk_bytes);
  sealed.header.packed_words = static_cast<std::uint32_t>(word_count);
  sealed.header.packed_calls = calls;
  sealed.header.checksum = checksum_of(sealed.header, to.first(bytes));
  sealed.content = to.data();
}

}  // namespace megascope::trace
