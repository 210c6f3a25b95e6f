#include "core/trace/chunk_words.h"
#include "core/trace/clock_bounds.h"
#include "core/trace/definition_codec.h"
#include "core/trace/reader.h"
#include "core/trace/sealed_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>

/// The chunks of a trace: which there are, which are duplicates, which are still written.
namespace megascope::trace {
namespace {

/// Smallest size of a location in a file: its definition. Bounds the allocation that a damaged
/// number can cause.
constexpr std::size_t kMinLocationBytes = 32;
constexpr std::size_t kHeaderWords = sizeof(ChunkHeader) / sizeof(encoding::Word);
using HeaderBytes = std::array<std::byte, sizeof(ChunkHeader)>;

/// Copies the header of a chunk that its thread may be writing, so that the pending call belongs to
/// the records that `used_bytes` covers. If the thread writes at each of many tries, the pending
/// call is given as unknown. Returns used_bytes.
std::size_t copy_header(const ChunkHeader& from, HeaderBytes& to) {
  constexpr int kMaxTries = 1000;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    HeaderBytes again;
    const std::uint64_t used = from.used_bytes.load(std::memory_order_acquire);
    std::memcpy(to.data(), &from, sizeof from);
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(again.data(), &from, sizeof from);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (to == again && from.used_bytes.load(std::memory_order_acquire) == used) return used;
  }
  std::memcpy(to.data() + offsetof(ChunkHeader, pending), &kUnknownCall, sizeof kUnknownCall);
  return from.used_bytes.load(std::memory_order_acquire);
}

/// Returns whether the records of a chunk can be read.
bool unpacks(const TraceFile::Chunk& chunk) {
  return !chunk.is_packed || ChunkWords().read(chunk).size() == chunk.word_count;
}

bool is_chunk(const ChunkHeader& header) {
  return header.magic == kChunkMagic && header.chunk_bytes >= kChunkAlignment &&
         header.chunk_bytes % kChunkAlignment == 0 && header.chunk_bytes <= kMaxChunkBytes;
}

}  // namespace

void TraceFile::scan_chunks() {
  std::size_t at = kFileHeaderBytes;
  bool is_behind_nothing = false;
  bool is_damaged = false;  // behind a chunk that is counted as damage already, in its content
  while (at + sizeof(ChunkHeader) <= bytes_.size()) {
    const auto* chunk = reinterpret_cast<const ChunkHeader*>(bytes_.data() + at);
    if (!is_chunk(*chunk)) {
      // Reserved space that was never used is all zero; anything else is damage. Chunks begin at
      // page boundaries.
      if (chunk->magic != 0 && !is_damaged) note_damage();
      is_damaged = is_damaged || chunk->magic != 0;
      if (chunk->magic != 0 && is_behind_nothing)
        is_one_moment_ = false;  // or a chunk was begun there just now
      is_behind_nothing = is_behind_nothing || chunk->magic == 0;
      at += kChunkAlignment;
      continue;
    }
    is_behind_nothing = false;
    const std::size_t taken = add_chunk(chunk, bytes_.size() - at);
    is_damaged = taken == 0;
    at += is_damaged ? kChunkAlignment : taken;
  }
}

/// Removes duplicates: a copied chunk may occur twice, or its copy be incomplete. The one with more
/// records has everything, unless it is packed and does not unpack.
void TraceFile::keep_whole_copies(Chunks& chunks) {
  std::stable_sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence;
    if (a.word_count != b.word_count) return a.word_count > b.word_count;
    return a.header > b.header;  // after the chunk that it was copied from, and not written again
  });
  Chunks kept;
  for (auto first = chunks.begin(); first != chunks.end();) {
    const auto end = std::find_if(
        first, chunks.end(), [&](const Chunk& chunk) { return chunk.sequence != first->sequence; });
    auto whole = first;
    if (end - first > 1) whole = std::find_if(first, end, unpacks);
    for (auto damaged = first; damaged != whole; ++damaged) note_damage();
    if (whole != end) kept.push_back(*whole);
    first = end;
  }
  chunks = std::move(kept);
}

/// Takes a snapshot of a location's last chunk, which the process may reuse while it is read, after
/// copying it beyond what is mapped. Returns false if that happened: read again.
bool TraceFile::hold_open_chunk(Chunks& chunks) {
  if (chunks.empty()) return true;
  Chunk& last = chunks.back();
  // All but the last are complete, so an empty one was being written when it was read.
  const bool is_whole = std::all_of(chunks.begin(), chunks.end() - 1,
                                    [](const Chunk& chunk) { return chunk.word_count != 0; });
  if (!is_whole) return false;
  if (last.is_packed) return true;  // never changes
  if (chunks.size() > 1 && chunks[chunks.size() - 2].sequence + 1 != last.sequence) return false;
  const std::size_t space = static_cast<std::size_t>(
      bytes_.data() + bytes_.size() - reinterpret_cast<const std::byte*>(last.header));
  HeaderBytes header;
  const std::size_t used = copy_header(*last.header, header);
  // Dropped space may have become the chunk of another thread, with the same number.
  const auto is_same = [&](const ChunkHeader& now) {
    return now.kind != ChunkKind::kFree && now.sequence == last.sequence &&
           now.base_ticks == last.base_ticks;
  };
  if (!is_same(*reinterpret_cast<const ChunkHeader*>(header.data()))) return false;
  if (used > std::min<std::size_t>(last.header->chunk_bytes, space)) return false;
  const std::size_t size = (used - sizeof(ChunkHeader)) / sizeof(encoding::Word);
  if (used < sizeof(ChunkHeader) || size < last.word_count) return false;
  auto copy = std::make_unique_for_overwrite<encoding::Word[]>(kHeaderWords + size);
  std::memcpy(copy.get(), header.data(), sizeof header);
  std::memcpy(copy.get() + kHeaderWords, first_word(last.header), size * sizeof(encoding::Word));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!is_same(*last.header) || last.header->used_bytes.load(std::memory_order_acquire) < used)
    return false;
  used_bytes_ += (size - last.word_count) * sizeof(encoding::Word);
  last.header = reinterpret_cast<const ChunkHeader*>(copy.get());
  last.word_count = size;
  last.base_ticks = last.header->base_ticks;
  last.may_change = false;
  last.content = std::as_bytes(std::span(copy.get() + kHeaderWords, size));
  held_.push_back(std::move(copy));
  return true;
}

bool TraceFile::hold_open_chunks() {
  bool are_held = true;  // each is tried, also after one that was not
  for (Chunks& chunks : locations_) are_held &= hold_open_chunk(chunks);
  for (Chunks& chunks : hooks_) are_held &= hold_open_chunk(chunks);
  return are_held;
}

/// Adds a chunk. Returns its size in the file; 0 if it is damaged, so that
/// its size is unknown.
std::size_t TraceFile::add_chunk(const ChunkHeader* at, std::size_t space) {
  HeaderBytes bytes;
  const std::uint64_t used = copy_header(*at, bytes);
  const auto& header = *reinterpret_cast<const ChunkHeader*>(bytes.data());
  if (!is_chunk(header)) {  // it was one: the file has just been changed
    note_damage();
    return 0;
  }
  const std::size_t chunk_bytes = header.chunk_bytes;
  const std::size_t end = std::min<std::size_t>({used, chunk_bytes, space});
  if (used < sizeof(ChunkHeader) || used > chunk_bytes) note_damage();
  if (end < used)
    is_one_moment_ = false;  // a running process: a copy that grew after the file was mapped
  if (end < sizeof(ChunkHeader)) return chunk_bytes;
  Chunk chunk;
  chunk.header = at;
  chunk.sequence = header.sequence;
  chunk.base_ticks = header.base_ticks;
  chunk.checksum = header.checksum;
  chunk.content = {reinterpret_cast<const std::byte*>(at + 1), end - sizeof(ChunkHeader)};
  chunk.word_count = chunk.content.size() / sizeof(encoding::Word);
  chunk.is_packed = version_ > 1 && header.packed_words != 0;
  chunk.may_change = is_running();
  if (chunk.is_packed) {
    chunk.word_count = header.packed_words;
    const bool is_possible = used == end &&
                             chunk.word_count <= kMaxPackedChunkBytes / sizeof(encoding::Word) &&
                             chunk.content.size() <= kMaxPackedChunkBytes;
    if (!is_possible || checksum_of(header, chunk.content) != chunk.checksum) {
      if (used <= chunk_bytes) note_damage();  // else noted above
      return 0;
    }
  }
  used_bytes_ += end;
  if (header.kind == ChunkKind::kDefinitions)
    damaged_count_ += decode_definitions(chunk.content, definitions_);
  else if (header.kind != ChunkKind::kFree)
    add_records(chunk, header);
  return chunk_bytes;
}

/// Counts a damaged place. In the file of a running process it may be one that was just written.
void TraceFile::note_damage() {
  ++damaged_count_;
  if (is_running()) is_one_moment_ = false;
}

void TraceFile::note_unreadable(const Chunk& chunk) const {
  const bool was_replaced = chunk.may_change &&
                            (!chunk.is_packed ||
                             checksum_of(*chunk.header, chunk.content) != chunk.checksum);
  if (was_replaced) return;
  const std::lock_guard lock(unreadable_mutex_);
  if (unreadable_.insert(chunk.header).second)
    ++definitions_.losses[static_cast<std::size_t>(LossCause::kDamaged)];
}

/// Adds a chunk of calls or annotations to its location.
void TraceFile::add_records(const Chunk& chunk, const ChunkHeader& header) {
  const bool is_known = header.kind == ChunkKind::kEvents || header.kind == ChunkKind::kHooks;
  if (!is_known || header.location >= bytes_.size() / kMinLocationBytes) {
    if (chunk.word_count != 0) ++damaged_count_;
    return;
  }
  std::vector<Chunks>& all = header.kind == ChunkKind::kEvents ? locations_ : hooks_;
  if (header.location >= all.size()) all.resize(header.location + 1);
  all[header.location].push_back(chunk);
  if (header.moment_ticks > definitions_.info.clock.points.back().ticks &&
      definitions_.info.end_ticks == 0) {
    definitions_.info.clock.points.push_back(
        bounded({header.moment_ticks, header.moment_monotonic_ns, header.moment_realtime_ns}));
  }
}

}  // namespace megascope::trace
