#include "core/buffer/recorder.h"

#include "core/trace/definition_codec.h"
#include "core/trace/reader.h"
#include "tests/core/recorder_fixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// A thread's buffer from the first record to the file on disk. The calls are bare ones of region
/// 3, numbered by their communicator.
namespace megascope {
namespace {

TEST_F(RecorderTest, GoesOnInTheNextChunk) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
  on_a_thread([&] {
    record(recorder, 0, 200'000);
  });  // 3.2 MB: the first chunk of 64 KiB and several of 256 KiB
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].size(), 200'000u);
  EXPECT_EQ(found[0][0], 0u);
  expect_consecutive(found[0]);
}

TEST_F(RecorderTest, IsReadableWhileItRuns) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
  on_a_thread([&] {
    record(recorder, 0, 10);
    EXPECT_EQ(numbers().at(0).size(), 10u);
    record(recorder, 10, 5000);
    EXPECT_EQ(numbers().at(0).size(), 5010u);
  });
  (void)recorder.finish(EndState::kFinalized);
}

TEST_F(RecorderTest, IsReadableAtAnyMomentWhileItIsWritten) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    record(recorder, 0, 1'500'000);
    is_done = true;
  });
  std::size_t last = 0;
  int reads = 0;
  for (; !is_done; ++reads) {
    const auto found = numbers();
    if (found.empty()) continue;
    expect_consecutive(found[0]);
    EXPECT_GE(found[0].size(), last);
    last = found[0].size();
  }
  writer.join();
  EXPECT_GT(reads, 2);
  EXPECT_EQ(numbers().at(0).size(), 1'500'000u);
  (void)recorder.finish(EndState::kFinalized);
}

TEST_F(RecorderTest, TheProfileCountsAllThatWasRecorded) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 150'000); });
  on_a_thread([&] { record(recorder, 0, 5); });
  (void)recorder.finish(EndState::kFinalized);
  EXPECT_EQ(recorder.profile().totals().calls, 150'005u);
}

/// What exports of a trace depend on: 16 bytes for each call that is kept, however it is packed.
TEST_F(RecorderTest, UnpackedBytesAreThoseOfTheRecordsThatAreKept) {
  constexpr std::uint64_t kSlackBytes = 200'000;  // headers, open chunks and free space
  for (const auto& [size_bytes, policy] :
       {std::pair{std::uint64_t{64} << 20, BufferPolicy::kStop},
        std::pair{std::uint64_t{1} << 20, BufferPolicy::kFlight}}) {
    std::filesystem::remove(directory_ / "rank-0.mgt");
    Recorder& recorder = make(size_bytes, policy);
    on_a_thread([&] { record(recorder, 0, 600'000); });
    (void)recorder.finish(EndState::kFinalized);
    const std::uint64_t kept_bytes = numbers().at(0).size() * 16;
    ASSERT_GT(kept_bytes, recorder.used_bytes() * 2) << "they are packed";
    EXPECT_GE(recorder.unpacked_bytes(), kept_bytes);
    EXPECT_LT(recorder.unpacked_bytes(), kept_bytes + kSlackBytes);
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(directory_ / "rank-0.mgt", file).is_ok());
    EXPECT_GE(file->unpacked_bytes(), kept_bytes);
    EXPECT_LE(file->unpacked_bytes(), recorder.unpacked_bytes());
  }
}

TEST_F(RecorderTest, ACopyThatWasInterruptedCostsNothing) {
  trace::ChunkStore store;
  const std::string path = directory_ / "one.mgt";
  ASSERT_TRUE(store.create(path, trace::Backing::kMapped, 1 << 20).is_ok());
  std::memcpy(store.header()->magic, trace::kFileMagic, sizeof trace::kFileMagic);
  store.header()->version = trace::kFormatVersion;
  store.header()->header_bytes = trace::kFileHeaderBytes;
  Status status;
  trace::ChunkHeader* chunk = store.acquire(8192, 8192, status);
  ASSERT_NE(chunk, nullptr);
  chunk->kind = trace::ChunkKind::kEvents;
  constexpr std::size_t kCalls = 400;  // more than a page unpacked
  encoding::Word* to = trace::first_word(chunk);
  for (std::size_t i = 0; i < kCalls; ++i) {
    *to++ = encoding::Word{100 + i} << 16 | 3;
    *to++ = encoding::Word{7} << 32;
  }
  chunk->used_bytes.store(sizeof *chunk + 16 * kCalls);
  trace::ChunkSealer sealer;
  trace::SealedChunk sealed;
  sealer.seal(*chunk, kCalls, sealed);
  ASSERT_EQ(sealed.header.packed_words, 2 * kCalls);
  const trace::ChunkStore::Offset copy = store.append(sealed, status);
  ASSERT_NE(copy, 0u) << status.message();

  const auto comms = [&] {
    std::unique_ptr<trace::TraceFile> file;
    EXPECT_TRUE(trace::TraceFile::open(path, file).is_ok());
    std::vector<CommId> found;
    const auto calls = file->calls(0);
    for (Call call; calls->next(call);) found.push_back(call.comm);
    return found;
  };
  EXPECT_EQ(comms(), std::vector<CommId>(kCalls, 7)) << "the chunk and its whole copy are one";
  ASSERT_TRUE(store.free(copy, sealed.header.chunk_bytes).is_ok());
  EXPECT_EQ(comms(), std::vector<CommId>(kCalls, 7)) << "the copy was dropped";
  ASSERT_EQ(store.write_into_free(sealed, status), copy) << status.message();
  chunk->used_bytes.store(sizeof *chunk);
  EXPECT_EQ(comms(), std::vector<CommId>(kCalls, 7)) << "the chunk is being begun anew";
}

TEST_F(RecorderTest, AThreadThatEndedLeavesItsCalls) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 3); });
  on_a_thread([&] { record(recorder, 100, 2); });
  EXPECT_THAT(numbers(),
              testing::ElementsAre(testing::ElementsAre(0, 1, 2), testing::ElementsAre(100, 101)));
  (void)recorder.finish(EndState::kFinalized);
}

TEST_F(RecorderTest, ThreadsThatComeAndGoTakeLittleOfTheBuffer) {
  Recorder& recorder = make(std::uint64_t{16} << 20, BufferPolicy::kStop);
  for (int i = 0; i < 1000; ++i)
    on_a_thread([&] { record(recorder, 0, 3); });  // 64 MB in whole first chunks
  (void)recorder.finish(EndState::kFinalized);
  std::size_t kept = 0;
  for (const auto& of_location : numbers()) kept += of_location.size();
  EXPECT_EQ(kept, 3000u);
}

TEST_F(RecorderTest, ACompletionWithoutAStartIsCounted) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] {
    EventBuffer* buffer = recorder.buffer_of_this_thread();
    encoding::Word* to = buffer->cursor();
    to[0] = encoding::entry_word(recorder.ticks(), buffer->base_ticks(), 3);
    to[1] = encoding::Word{encoding::kHasFacts} << 56;
    to[2] = encoding::short_fact(FactKind::kRecvComplete, 9);
    buffer->commit(to + 3);
  });
  (void)recorder.finish(EndState::kFinalized);
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kUnknownRequest)], 1u);
}

TEST_F(RecorderTest, WrittenChunksReachTheFile) {
  trace::ChunkStore store;
  const std::string path = directory_ / "written.mgt";
  ASSERT_TRUE(store.create(path, trace::Backing::kWritten, std::uint64_t{1} << 20).is_ok());
  std::memcpy(store.header()->magic, trace::kFileMagic, sizeof trace::kFileMagic);
  store.header()->version = trace::kFormatVersion;
  store.header()->header_bytes = trace::kFileHeaderBytes;
  Status status;
  for (std::uint32_t sequence = 0; sequence < 3; ++sequence) {
    trace::ChunkHeader* chunk = store.acquire(8192, 8192, status);
    ASSERT_NE(chunk, nullptr) << status.message();
    chunk->kind = trace::ChunkKind::kEvents;
    chunk->sequence = sequence;
    encoding::Word* to = trace::first_word(chunk);
    to[0] = encoding::Word{100 + sequence} << 16 | 3;
    to[1] = encoding::Word{sequence} << 32;
    chunk->used_bytes.store(sizeof *chunk + 16);
    if (sequence == 2) break;  // the last one is open at the end
    EXPECT_TRUE(store.release(chunk).is_ok());
  }
  ASSERT_TRUE(store.flush().is_ok());
  std::unique_ptr<trace::TraceFile> file;
  ASSERT_TRUE(trace::TraceFile::open(path, file).is_ok());
  std::vector<CommId> found;
  const auto calls = file->calls(0);
  for (Call call; calls->next(call);) found.push_back(call.comm);
  EXPECT_THAT(found, testing::ElementsAre(0, 1, 2));
}

/// Space at the very end of what `ulimit -f` allows is used again.
TEST_F(RecorderTest, FreeSpaceAtTheFileSizeLimitIsUsed) {
  trace::ChunkStore store;
  ASSERT_TRUE(store.create(directory_ / "one.mgt", trace::Backing::kMapped, 1 << 20).is_ok());
  std::vector<encoding::Word> memory(8192 / sizeof(encoding::Word));
  auto& chunk = *reinterpret_cast<trace::ChunkHeader*>(memory.data());
  chunk.magic = trace::kChunkMagic;
  chunk.chunk_bytes = 8192;
  chunk.used_bytes.store(8192);
  chunk.kind = trace::ChunkKind::kEvents;
  trace::ChunkSealer sealer;
  trace::SealedChunk sealed;
  sealer.seal(chunk, 1, sealed);
  Status status;
  const trace::ChunkStore::Offset place = store.append(sealed, status);
  ASSERT_NE(place, 0u) << status.message();
  ASSERT_TRUE(store.free(place, sealed.header.chunk_bytes).is_ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit at_the_end = before;
  at_the_end.rlim_cur = place + sealed.header.chunk_bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &at_the_end), 0);
  const trace::ChunkStore::Offset again = store.write_into_free(sealed, status);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(again, place) << status.message();
}

/// Of a process that is killed: nothing is released or flushed.
TEST_F(RecorderTest, WrittenChunksAreReadableWithoutTheEnd) {
  trace::ChunkStore store;
  const std::string path = directory_ / "killed.mgt";
  ASSERT_TRUE(store.create(path, trace::Backing::kWritten, std::uint64_t{1} << 20).is_ok());
  std::memcpy(store.header()->magic, trace::kFileMagic, sizeof trace::kFileMagic);
  store.header()->version = trace::kFormatVersion;
  store.header()->header_bytes = trace::kFileHeaderBytes;
  Status status;
  trace::ChunkHeader* const definitions = store.acquire(8192, 8192, status,
                                                        trace::ChunkStore::Use::kDefinitions);
  ASSERT_NE(definitions, nullptr) << status.message();
  definitions->kind = trace::ChunkKind::kDefinitions;
  const std::vector<std::byte> region = trace::encode(
      RegionDefinition{.id = 3, .name = "MPI_Send", .group = "p2p"});
  std::memcpy(static_cast<void*>(definitions + 1), region.data(), region.size());
  definitions->used_bytes.store(sizeof *definitions + region.size());
  trace::ChunkHeader* const events = store.acquire(8192, 8192, status);
  ASSERT_NE(events, nullptr) << status.message();
  events->kind = trace::ChunkKind::kEvents;
  encoding::Word* to = trace::first_word(events);
  to[0] = encoding::Word{100} << 16 | 3;
  to[1] = 0;
  events->used_bytes.store(sizeof *events + 16);
  trace::ChunkSealer sealer;
  trace::SealedChunk sealed;
  sealer.seal(*events, 1, sealed);
  ASSERT_NE(store.append(sealed, status), 0u) << status.message();
  std::unique_ptr<trace::TraceFile> file;
  status = trace::TraceFile::open(path, file);
  ASSERT_TRUE(status.is_ok()) << status.message();
  ASSERT_NE(file->definitions().region(3), nullptr);
  EXPECT_EQ(file->definitions().region(3)->name, "MPI_Send");
  Call call;
  EXPECT_TRUE(file->calls(0)->next(call));
}

TEST_F(RecorderTest, OwnTimeInsideOfOwnTimeCountsOnce) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  const std::uint64_t before = recorder.overhead_ticks();
  const std::uint64_t begin = recorder.ticks();
  {
    const OverheadTimer outer(recorder);
    const OverheadTimer inner(recorder);
    usleep(2000);
  }
  const std::uint64_t elapsed = recorder.ticks() - begin;
  const std::uint64_t once = recorder.overhead_ticks() - before;
  EXPECT_LE(once, elapsed);
  EXPECT_GE(once, 2'000'000u);  // ticks are ns
  {
    const OverheadTimer another(recorder);
    usleep(2000);
  }
  EXPECT_GE(recorder.overhead_ticks() - before, once + 2'000'000u);
}

TEST_F(RecorderTest, AFileThatIsThereIsNotOverwritten) {
  trace::ChunkStore first;
  trace::ChunkStore second;
  ASSERT_TRUE(first.create(directory_ / "one.mgt", trace::Backing::kMapped, 1 << 20).is_ok());
  EXPECT_THAT(second.create(directory_ / "one.mgt", trace::Backing::kMapped, 1 << 20).message(),
              testing::HasSubstr("it exists already"));
}

TEST_F(RecorderTest, AFileThatWasReplacedIsNotWrittenTo) {
  trace::ChunkStore store;
  const std::string path = directory_ / "one.mgt";
  ASSERT_TRUE(store.create(path, trace::Backing::kMapped, 1 << 20).is_ok());
  std::filesystem::rename(path, path + ".moved");
  std::filesystem::create_directory(directory_ / "other");
  trace::ChunkStore other;
  ASSERT_TRUE(other.create(path, trace::Backing::kMapped, 1 << 20).is_ok());
  Status status;
  EXPECT_EQ(store.acquire(4096, 4096, status), nullptr);
  EXPECT_THAT(status.message(), testing::HasSubstr("has been replaced by another file"));
}

}  // namespace
}  // namespace megascope
