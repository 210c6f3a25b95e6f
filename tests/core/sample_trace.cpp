#include "tests/core/sample_trace.h"

#include "core/encoding/hook_words.h"
#include "core/encoding/word_packer.h"
#include "core/trace/sealed_chunk.h"

#include <algorithm>
#include <cstring>

namespace megascope::trace {

using encoding::Word;

Word call_word0(std::uint64_t enter, RegionId region) { return enter << 16 | region; }

Word call_word1(std::uint32_t duration, std::uint32_t comm, FactKind kind, unsigned flags) {
  return Word{duration} | Word{comm} << 32 | Word{static_cast<std::uint8_t>(kind)} << 48 |
         Word{flags} << 56;
}

SampleTrace::SampleTrace() : words_(kFileHeaderBytes / sizeof(Word)) {
  FileHeader& to = header();
  std::memcpy(to.magic, kFileMagic, sizeof to.magic);
  to.version = kFormatVersion;
  to.header_bytes = kFileHeaderBytes;
  to.world_size = 2;
  to.pid = 4321;
  to.start_ticks = 1000;
  to.first_moment_ticks = 1000;
  to.first_moment_monotonic_ns = 500;
  to.first_moment_realtime_ns = 1'000'000;
  std::memcpy(to.run_id, "0123456789abcdef", 16);
}

ChunkHeader& SampleTrace::begin(ChunkKind kind, std::size_t payload_bytes) {
  const std::size_t whole = sizeof(ChunkHeader) + payload_bytes;
  const std::size_t chunk_bytes = (whole + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  const std::size_t at = words_.size();
  words_.resize(at + chunk_bytes / sizeof(Word));
  auto& chunk = *reinterpret_cast<ChunkHeader*>(words_.data() + at);
  chunk.magic = kChunkMagic;
  chunk.chunk_bytes = static_cast<std::uint32_t>(chunk_bytes);
  chunk.used_bytes.store(whole);
  chunk.kind = kind;
  return chunk;
}

SampleTrace& SampleTrace::define(const std::vector<DefinitionBytes>& definitions) {
  DefinitionBytes all;
  for (const DefinitionBytes& one : definitions) all.insert(all.end(), one.begin(), one.end());
  ChunkHeader& chunk = begin(ChunkKind::kDefinitions, all.size());
  std::memcpy(static_cast<void*>(&chunk + 1), all.data(), all.size());
  return *this;
}

ChunkHeader& SampleTrace::append(ChunkKind kind, LocationId location, std::uint32_t sequence,
                                 std::uint64_t base_ticks, const std::vector<Word>& words) {
  ChunkHeader& chunk = begin(kind, words.size() * sizeof(Word));
  std::memcpy(static_cast<void*>(&chunk + 1), words.data(), words.size() * sizeof(Word));
  chunk.location = location;
  chunk.sequence = sequence;
  chunk.base_ticks = base_ticks;
  return chunk;
}

SampleTrace& SampleTrace::hooks(LocationId location, std::uint32_t sequence,
                                std::uint64_t base_ticks, const std::vector<Word>& words) {
  append(ChunkKind::kHooks, location, sequence, base_ticks, words);
  return *this;
}

SampleTrace& SampleTrace::events(LocationId location, std::uint32_t sequence,
                                 std::uint64_t base_ticks, const std::vector<Word>& words,
                                 const std::vector<Word>& pending) {
  ChunkHeader& chunk = append(ChunkKind::kEvents, location, sequence, base_ticks, words);
  if (!pending.empty())
    std::memcpy(chunk.pending[0].words, pending.data(), pending.size() * sizeof(Word));
  return *this;
}

void SampleTrace::pack(ChunkHeader& chunk) {
  const std::span<Word> words(first_word(&chunk),
                              (chunk.used_bytes.load() - sizeof chunk) / sizeof(Word));
  std::vector<std::byte> packed((words.size() + 1) * encoding::kMaxPackedRecordBytes);
  const auto content = chunk.kind == ChunkKind::kHooks ? encoding::WordPacker::Content::kHooks
                                                       : encoding::WordPacker::Content::kCalls;
  encoding::WordPacker packer;
  packed.resize(packer.pack(words, content, packed));
  if (packed.empty() || packed.size() > words.size_bytes()) return;
  std::fill(words.begin(), words.end(), 0);
  std::memcpy(words.data(), packed.data(), packed.size());
  chunk.used_bytes.store(sizeof chunk + packed.size());
  chunk.packed_words = static_cast<std::uint32_t>(words.size());
  chunk.checksum = checksum_of(chunk, packed);
}

SampleTrace& SampleTrace::pack() {
  for (std::size_t at = kFileHeaderBytes / sizeof(Word); at < words_.size();) {
    auto& chunk = *reinterpret_cast<ChunkHeader*>(words_.data() + at);
    at += chunk.chunk_bytes / sizeof(Word);
    if (chunk.kind != ChunkKind::kDefinitions && chunk.packed_words == 0) pack(chunk);
  }
  return *this;
}

SampleTrace SampleTrace::rich() {
  SampleTrace trace;
  trace.define(
      {encode_property(kPropertyHost, "node7"), encode_property(kPropertyClockDomain, "boot/tsc"),
       encode(RegionDefinition{.id = 1,
                               .name = "MPI_Send",
                               .role = RegionRole::kPointToPoint,
                               .paradigm = Paradigm::kMpi,
                               .collective_op = CollectiveOp::kNone,
                               .group = "p2p"}),
       encode(RegionDefinition{.id = 2,
                               .name = "MPI_Error_string",
                               .role = RegionRole::kFunction,
                               .paradigm = Paradigm::kMpi,
                               .collective_op = CollectiveOp::kNone,
                               .group = "error"}),
       encode(CommDefinition{.id = 0,
                             .parent = kNoComm,
                             .global_name = 1,
                             .kind = CommKind::kWorld,
                             .name = "MPI_COMM_WORLD",
                             .my_rank = 0,
                             .members = {{0, 1, 2}},
                             .remote_members = {}}),
       encode(WindowDefinition{.id = 0,
                               .comm = 0,
                               .global_name = 5,
                               .flavor = WindowFlavor::kShared,
                               .name = "MPI_Win_allocate_shared #1 of MPI_COMM_WORLD",
                               .size_bytes = 1 << 20,
                               .displacement_bytes = 8}),
       encode_window_name(0, "halo"), encode(GroupDefinition{.id = 0, .members = {{1, 1, 1}}}),
       encode(FileDefinition{
           .id = 0, .comm = 0, .global_name = 5, .mode = kFileModeWrite, .name = "data"}),
       encode(LocationDefinition{
           .id = 0, .name = "main thread", .system_thread_id = 4321, .is_main = true}),
       encode(LocationDefinition{
           .id = 1, .name = "thread 1", .system_thread_id = 4322, .is_main = false})});
  const auto header = [](unsigned layout, FactKind kind, std::uint32_t request) {
    return Word{layout} | Word{static_cast<std::uint8_t>(kind)} << 16 | Word{request} << 32;
  };
  using encoding::kHasFacts;
  using encoding::pack;
  trace.events(0, 0, 2000,
               {call_word0(10, 1), call_word1(5, 0, FactKind::kSend, 0), pack(1, 42),
                pack(40, 0),                                                   // at 2010
                call_word0(30, 2), call_word1(2, 0xFFFF, FactKind::kNone, 1),  // nested, at 2030
                call_word0(20, 1), call_word1(50, 0, FactKind::kNone, kHasFacts),  // encloses it
                header(encoding::kWideFact, FactKind::kRecvRequest, 9), pack(70'000, 0),
                pack(-2, -1), 80, 0, encoding::kTimeBase, 5000, call_word0(1, 1),
                call_word1(0xFFFFFFFF, 0, FactKind::kNone, kHasFacts)});  // at 5001 …
  trace.events(0, 1, 6000,
               {header(encoding::kMediumFact, FactKind::kDuration, 0), pack(-1, 0),
                Word{0xFFFF} << 48 | (Word{1} << 33), call_word0(7, 1),
                call_word1(3, 0, FactKind::kNone, kHasFacts),  // at 6007
                header(encoding::kShortFact, FactKind::kRecvComplete, 9)},
               {call_word0(100, 1), call_word1(0, 0, FactKind::kRecv, 0), pack(1, 77),
                pack(8, 0)});  // pending, 6100
  trace.events(1, 0, 3000,
               {call_word0(0, 1),
                call_word1(4, 0, FactKind::kCollective, 0),
                pack(0, 3),
                pack(8, 16),
                call_word0(9, 1),
                call_word1(4, 0, FactKind::kSendrecv, 0),
                pack(1, 0),
                pack(5, 6),
                pack(7, 8),
                call_word0(15, 1),
                call_word1(4, 0, FactKind::kRput, 0),
                pack(1, 0),
                pack(40, 3),
                call_word0(20, 1),
                call_word1(4, 0, FactKind::kGetAccumulate, 0),
                pack(1, 0),
                pack(8, 4),
                pack(16, 0),
                call_word0(25, 1),
                call_word1(4, 0, FactKind::kNone, kHasFacts),
                header(encoding::kShortFact, FactKind::kRmaComplete, 3),
                call_word0(30, 1),
                call_word1(4, 0, FactKind::kGroupSync, 0),
                pack(-1, 0),
                pack(static_cast<std::int32_t>(rma::kComplete), 0),
                call_word0(40, 1),
                call_word1(4, 0, FactKind::kNone, kHasFacts),  // starts a write …
                header(encoding::kMediumFact, FactKind::kFileWriteRequest, 5),
                pack(0, 101),
                16,  // at 100, of file 0
                call_word0(50, 1),
                call_word1(4, 0xFFFF, FactKind::kNone, kHasFacts),
                header(encoding::kShortFact, FactKind::kFileWriteComplete, 5)});
  return trace;
}

SampleTrace SampleTrace::with_hooks() {
  SampleTrace trace = rich();
  trace.define({encode(RegionDefinition{.id = kFirstProgramRegion,
                                        .name = "step",
                                        .role = RegionRole::kCode,
                                        .paradigm = Paradigm::kUser,
                                        .collective_op = CollectiveOp::kNone,
                                        .group = "step"}),
                encode(CounterDefinition{.id = 0, .name = "loss", .unit = "nats"}),
                encode_tensor(0, "wte")});
  const TensorShape shape{.kind = TensorKind::kWeight,
                          .type = ElementType::kBfloat16,
                          .layer = 1,
                          .micro_batch = -1,
                          .split_dimension = 0,
                          .dimension_count = 2,
                          .extents = {8, 16}};
  std::vector<Word> reported(32);
  Word* to = reported.data();
  *to++ = hook_words::timed(2005, 2000, kFirstProgramRegion);
  to = hook_words::encode_value(to, ValueName::kStep, 7);
  to = hook_words::encode_value(to, ValueName::kLayer, std::int64_t{1} << 40);
  to = hook_words::encode_counter(to, 2012, 2000, 0, 0.5);
  to = hook_words::encode_mark(to, 2013, 2000, kFirstProgramRegion);
  to = hook_words::encode_range_start(to, 2013, 2000, kFirstProgramRegion, 3);
  to = hook_words::encode_range_stop(to, 2014, 2000, kFirstProgramRegion, 3, 2013);
  *to++ = encoding::kTimeBase;
  *to++ = 2500;
  to = hook_words::encode_tensor(to, 2500, 2500, 0, shape);
  reported.resize(static_cast<std::size_t>(to - reported.data()));
  trace.hooks(0, 0, 2000, reported);
  trace.hooks(0, 1, 3000,
              {hook_words::timed(3000, 3000, hook_words::kLeave),
               hook_words::timed(3001, 3000, kFirstProgramRegion),
               hook_words::timed(3002, 3000, kFirstProgramRegion),
               hook_words::timed(3003, 3000, hook_words::kEnd),
               hook_words::timed(3004, 3000, kFirstProgramRegion)});
  return trace;
}

}  // namespace megascope::trace
