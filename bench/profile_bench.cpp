// What a recorded call costs again when its chunk is full: decoding it and adding it to the
// profile.

#include "core/encoding/call_decoder.h"
#include "core/encoding/encoding.h"
#include "core/profile/profile.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace megascope {
namespace {

using encoding::pack;
using encoding::Word;

constexpr std::size_t kCallsPerChunk = 8000;

void add_call(std::vector<Word>& words, RegionId region, FactKind kind, unsigned flags) {
  words.push_back(encoding::entry_word(words.size() * 100, 0, region));
  words.push_back(Word{50} | Word{1} << 32 | Word{static_cast<std::uint8_t>(kind)} << 48 |
                  Word{flags} << 56);
}

std::vector<Word> bare_calls() {
  std::vector<Word> words;
  for (std::size_t i = 0; i < kCallsPerChunk; ++i) add_call(words, 3, FactKind::kNone, 0);
  return words;
}

std::vector<Word> collectives() {
  std::vector<Word> words;
  for (std::uint32_t i = 0; i < kCallsPerChunk; ++i) {
    add_call(words, 4, FactKind::kCollective, 0);
    words.push_back(pack(0U, i));
    words.push_back(pack(8U, 8U));
  }
  return words;
}

std::vector<Word> sendrecvs() {
  std::vector<Word> words;
  for (std::uint32_t i = 0; i < kCallsPerChunk; ++i) {
    add_call(words, 8, FactKind::kSendrecv, 0);
    words.push_back(pack(1, 3));
    words.push_back(pack(7, 7));
    words.push_back(pack(8U, 8U));
  }
  return words;
}

std::vector<Word> exchanges() {
  std::vector<Word> words;
  for (std::uint32_t i = 0; i + 2 < kCallsPerChunk; i += 3) {
    for (const FactKind kind : {FactKind::kRecvRequest, FactKind::kSendRequest}) {
      add_call(words, kind == FactKind::kRecvRequest ? RegionId{5} : RegionId{6}, kind, 0);
      words.push_back(pack(1, 7));
      words.push_back(pack(64U, i + 1 + (kind == FactKind::kSendRequest ? 1U : 0U)));
    }
    add_call(words, 7, FactKind::kNone, encoding::kHasFacts);
    words.push_back(encoding::short_fact(FactKind::kRecvComplete, i + 1));
    words.push_back(encoding::short_fact(FactKind::kSendComplete, i + 2));
  }
  return words;
}

std::vector<Word> many_at_once() {
  constexpr std::uint32_t kOpen = 64;
  std::vector<Word> words;
  for (std::uint32_t i = 0; i + 2 * kOpen < kCallsPerChunk; i += 2 * kOpen) {
    for (std::uint32_t request = i + 1; request <= i + 2 * kOpen; ++request) {
      const bool is_receive = request <= i + kOpen;
      add_call(words, is_receive ? RegionId{5} : RegionId{6},
               is_receive ? FactKind::kRecvRequest : FactKind::kSendRequest, 0);
      words.push_back(pack(1, 7));
      words.push_back(pack(64U, request));
    }
    add_call(words, 7, FactKind::kNone, encoding::kHasFacts);
    words.push_back(encoding::short_fact(FactKind::kRecvComplete, i + 1) | Word{kOpen - 1} << 24);
    words.push_back(encoding::short_fact(FactKind::kSendComplete, i + 1 + kOpen) | Word{kOpen - 1}
                                                                                       << 24);
  }
  return words;
}

void fold(benchmark::State& state, const std::vector<Word>& words) {
  Profile profile;
  profile.set_world_rank(0);
  CommDefinition comm;
  comm.id = 1;
  comm.members = {{.first = 0, .stride = 1, .count = 4}};
  profile.define(comm);
  encoding::CallDecoder decoder;
  std::uint64_t calls = 0;
  for (auto _ : state) {
    decoder.begin_chunk(words, 0);
    calls += decoder.add_all_to(profile);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(calls));
  state.counters["ns_per_call"] = benchmark::Counter(
      static_cast<double>(calls) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  benchmark::DoNotOptimize(profile.totals().calls);
}

BENCHMARK_CAPTURE(fold, bare, bare_calls());
BENCHMARK_CAPTURE(fold, collective, collectives());
BENCHMARK_CAPTURE(fold, sendrecv, sendrecvs());
BENCHMARK_CAPTURE(fold, irecv_isend_waitall, exchanges());
BENCHMARK_CAPTURE(fold, irecv_isend_x64_waitall, many_at_once());

}  // namespace
}  // namespace megascope

BENCHMARK_MAIN();
