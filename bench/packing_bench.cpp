// What packing a full chunk costs a record, beside copying the chunk as format version 1 did, and
// what unpacking costs. Each writes to a file in memory, as the recorder does.

#include "core/encoding/encode_call.h"
#include "core/encoding/word_unpacker.h"
#include "core/trace/sealed_chunk.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace megascope {
namespace {

using encoding::pack;
using encoding::Word;

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxWords = (kChunkBytes - sizeof(trace::ChunkHeader)) / sizeof(Word) - 5;

/// Records of a chunk, with times that vary.
class Pattern {
 public:
  void call(RegionId region, FactKind kind, Word third, Word fourth) {
    const encoding::CallWords own{.enter_ticks = now_ += 100 + random_() % 400,
                                  .duration = 150 + random_() % 900,
                                  .region = region,
                                  .comm = 0};
    Word to[encoding::kMaxCallWords];
    Word* const end = encoding::encode_call(to, own, {kind, {third, fourth, 0}}, 0, false);
    words_.insert(words_.end(), to, end);
    now_ += own.duration;
    ++records_;
  }
  bool is_full() const { return words_.size() >= kMaxWords; }
  std::uint32_t random(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_() % limit);
  }
  const std::vector<Word>& words() const { return words_; }
  std::size_t records() const { return records_; }

 private:
  std::mt19937_64 random_{1};
  std::vector<Word> words_;
  std::uint64_t now_ = 0;
  std::size_t records_ = 0;
};

/// Four messages to each of four neighbours and a reduction, again and again.
Pattern regular() {
  Pattern pattern;
  for (std::uint32_t i = 0; !pattern.is_full(); ++i) {
    for (int peer = 0; peer < 4 && !pattern.is_full(); ++peer) {
      pattern.call(10, FactKind::kSend, pack(peer, 7), pack(4096U, kNoRequest));
      pattern.call(11, FactKind::kRecv, pack(peer, 7), pack(4096U, kNoRequest));
    }
    pattern.call(12, FactKind::kCollective, pack(0U, i), pack(8U, 8U));
  }
  return pattern;
}

/// Each message to another rank, with another tag and size.
Pattern irregular() {
  Pattern pattern;
  while (!pattern.is_full()) {
    const bool is_send = pattern.random(2) == 0;
    pattern.call(is_send ? RegionId{10} : RegionId{11}, is_send ? FactKind::kSend : FactKind::kRecv,
                 pack(pattern.random(64), pattern.random(16)),
                 pack(pattern.random(100'000), kNoRequest));
  }
  return pattern;
}

/// A file that grows, as a trace does: writing to new pages takes longer than to old ones.
class GrowingFile {
 public:
  GrowingFile() : file_(memfd_create("packing_bench", 0)) {}
  ~GrowingFile() { close(file_); }
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  /// Emptying the file when it has 64 MiB is not measured.
  void append(benchmark::State& state, const void* from, std::size_t bytes) {
    benchmark::DoNotOptimize(pwrite(file_, from, bytes, at_));
    at_ += static_cast<off_t>(bytes);
    if (at_ < off_t{64} << 20) return;
    state.PauseTiming();
    benchmark::DoNotOptimize(ftruncate(file_, 0));
    at_ = 0;
    state.ResumeTiming();
  }

 private:
  int file_;
  off_t at_ = 0;
};

/// A full chunk of a pattern.
struct Chunk {
  explicit Chunk(const Pattern& pattern) : memory(kChunkBytes / sizeof(Word)) {
    auto& header = *reinterpret_cast<trace::ChunkHeader*>(memory.data());
    header.magic = trace::kChunkMagic;
    header.kind = trace::ChunkKind::kEvents;
    header.chunk_bytes = kChunkBytes;
    header.used_bytes.store(sizeof header + pattern.words().size() * sizeof(Word));
    std::copy(pattern.words().begin(), pattern.words().end(), trace::first_word(&header));
  }
  const trace::ChunkHeader& header() const {
    return *reinterpret_cast<const trace::ChunkHeader*>(memory.data());
  }
  std::vector<Word> memory;
};

void note(benchmark::State& state, const Pattern& pattern, std::size_t bytes) {
  const auto records = static_cast<double>(pattern.records());
  state.counters["ns_per_record"] = benchmark::Counter(
      records * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_record"] = static_cast<double>(bytes) / records;
}

void copy(benchmark::State& state, const Pattern& pattern) {
  const Chunk chunk(pattern);
  GrowingFile file;
  const std::size_t bytes = chunk.header().used_bytes.load();
  for (auto _ : state) file.append(state, &chunk.header(), bytes);
  note(state, pattern, bytes);
}

void seal(benchmark::State& state, const Pattern& pattern) {
  const Chunk chunk(pattern);
  GrowingFile file;
  trace::ChunkSealer sealer;
  trace::SealedChunk sealed;
  for (auto _ : state) {
    sealer.seal(chunk.header(), pattern.records(), sealed);
    file.append(state, sealed.content, sealed.content_bytes());
  }
  note(state, pattern, sealed.content_bytes());
}

void unpack(benchmark::State& state, const Pattern& pattern) {
  const Chunk chunk(pattern);
  trace::ChunkSealer sealer;
  trace::SealedChunk sealed;
  sealer.seal(chunk.header(), pattern.records(), sealed);
  const auto unpacker = std::make_unique<encoding::WordUnpacker>();
  std::vector<Word> words(sealed.header.packed_words);
  for (auto _ : state)
    benchmark::DoNotOptimize(unpacker->unpack({sealed.content, sealed.content_bytes()}, words));
  note(state, pattern, sealed.content_bytes());
}

BENCHMARK_CAPTURE(copy, regular, regular());
BENCHMARK_CAPTURE(seal, regular, regular());
BENCHMARK_CAPTURE(unpack, regular, regular());
BENCHMARK_CAPTURE(copy, irregular, irregular());
BENCHMARK_CAPTURE(seal, irregular, irregular());
BENCHMARK_CAPTURE(unpack, irregular, irregular());

}  // namespace
}  // namespace megascope

BENCHMARK_MAIN();
