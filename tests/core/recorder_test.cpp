#include "core/buffer/recorder.h"

#include "core/trace/definition_codec.h"
#include "core/trace/reader.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

/// A thread's buffer from the first record to the file on disk. The calls are bare ones of region
/// 3, numbered by their communicator.
namespace megascope {
namespace {

class RecorderTest : public testing::Test {
 protected:
  Recorder& make(std::uint64_t size_bytes, BufferPolicy policy) {
    static auto* const
        recorders = new std::vector<std::unique_ptr<Recorder>>;  // never destroyed, as in a program
    auto& recorder = recorders->emplace_back(
        std::make_unique<Recorder>(RecorderOptions{.path = directory_ / "rank-0.mgt",
                                                   .size_bytes = size_bytes,
                                                   .policy = policy,
                                                   .use_tsc = false}));
    ProcessInfo info;
    info.pid = getpid();
    info.run_id = "test";
    const Status status = recorder->open(info);
    EXPECT_TRUE(status.is_ok()) << status.message();
    recorder->define(RegionDefinition{.id = 3,
                                      .name = "MPI_Test",
                                      .role = RegionRole::kPointToPoint,
                                      .paradigm = Paradigm::kMpi,
                                      .collective_op = CollectiveOp::kNone,
                                      .group = "p2p"});
    return *recorder;
  }

  /// Calls with numbers from `first`, on the calling thread.
  static void record(Recorder& recorder, std::uint32_t first, std::uint32_t count) {
    EventBuffer* buffer = recorder.buffer_of_this_thread();
    ASSERT_NE(buffer, nullptr);
    for (std::uint32_t i = first; i < first + count; ++i) {
      if (!buffer->ensure(encoding::kBareWords)) continue;
      encoding::Word* to = buffer->cursor();
      to[0] = encoding::entry_word(recorder.ticks(), buffer->base_ticks(), 3);
      to[1] = encoding::Word{1} | encoding::Word{i & 0x7FFF} << 32;
      buffer->commit(to + encoding::kBareWords);
    }
  }

  std::vector<std::vector<std::uint32_t>> numbers() const {
    std::vector<std::vector<std::uint32_t>> numbers;
    std::unique_ptr<trace::TraceFile> file;
    const Status status = trace::TraceFile::open(directory_ / "rank-0.mgt", file);
    EXPECT_TRUE(status.is_ok()) << status.message();
    if (file == nullptr) return numbers;
    for (const LocationDefinition& location : file->definitions().locations) {
      auto& of_location = numbers.emplace_back();
      const auto calls = file->calls(location.id);
      for (Call call; calls->next(call);) of_location.push_back(call.comm);
    }
    EXPECT_EQ(file->definitions().losses[static_cast<std::size_t>(LossCause::kDamaged)], 0u);
    return numbers;
  }

  static void expect_consecutive(const std::vector<std::uint32_t>& numbers) {
    for (std::size_t i = 1; i < numbers.size(); ++i)
      ASSERT_EQ(numbers[i], (numbers[i - 1] + 1) & 0x7FFF) << i;
  }

  const test::TemporaryDirectory directory_;
};

/// On a thread of its own: a thread keeps the buffer of its first recorder.
void on_a_thread(const std::function<void()>& action) { std::thread(action).join(); }

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

TEST_F(RecorderTest, UsesNearlyAllOfItsBytes) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 100'000); });
  (void)recorder.finish(EndState::kFinalized);
  constexpr std::size_t kRestBytes = (64 + 64 + 16) << 10;  // definitions, the first small chunk's
                                                            // place, less than a chunk
  EXPECT_GT(numbers().at(0).size() * 16, (std::size_t{1} << 20) - kRestBytes);
  EXPECT_LE(std::filesystem::file_size(directory_ / "rank-0.mgt"), std::size_t{1} << 20);
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
  encoding::Word* to = trace::first_word(chunk);
  to[0] = encoding::Word{100} << 16 | 3;
  to[1] = encoding::Word{7} << 32;
  chunk->used_bytes.store(sizeof *chunk + 16);
  const trace::ChunkStore::Offset copy = store.append_copy(chunk, status);
  ASSERT_NE(copy, 0u) << status.message();

  const auto comms = [&] {
    std::unique_ptr<trace::TraceFile> file;
    EXPECT_TRUE(trace::TraceFile::open(path, file).is_ok());
    std::vector<CommId> found;
    const auto calls = file->calls(0);
    for (Call call; calls->next(call);) found.push_back(call.comm);
    return found;
  };
  EXPECT_THAT(comms(), testing::ElementsAre(7)) << "the chunk and its whole copy are one";
  ASSERT_TRUE(store.clear(chunk, copy, 8192).is_ok());
  EXPECT_THAT(comms(), testing::ElementsAre(7)) << "a copy that has only begun";
  ASSERT_TRUE(store.overwrite(chunk, copy).is_ok());
  chunk->used_bytes.store(sizeof *chunk);
  EXPECT_THAT(comms(), testing::ElementsAre(7)) << "the chunk is being begun anew";
}

TEST_F(RecorderTest, StopKeepsTheOldestAndCountsTheRest) {
  Recorder& recorder = make(std::uint64_t{2} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 300'000); });
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok())
      << "the limit is the user's choice, no error";
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].front(), 0u);
  expect_consecutive(found[0]);
  const Losses losses = recorder.losses();
  EXPECT_EQ(losses[static_cast<std::size_t>(LossCause::kBufferFull)] + found[0].size(), 300'000u);
  EXPECT_GT(found[0].size(), 60'000u);
}

TEST_F(RecorderTest, FlightKeepsTheNewestAndSumsTheRest) {
  Recorder& recorder = make(std::uint64_t{4} << 20, BufferPolicy::kFlight);
  on_a_thread([&] { record(recorder, 0, 700'000); });
  EXPECT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  const auto found = numbers();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].back(), 699'999u & 0x7FFF);
  expect_consecutive(found[0]);
  EXPECT_GT(found[0].size(), 60'000u);
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] + found[0].size(),
            700'000u);
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

TEST_F(RecorderTest, AFullBufferAtAThreadsEndIsNoTrouble) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  on_a_thread([&] { record(recorder, 0, 150'000); });
  on_a_thread([&] { record(recorder, 0, 150'000); });
  (void)recorder.finish(EndState::kFinalized);
  std::size_t kept = 0;
  for (const auto& of_location : numbers()) kept += of_location.size();
  EXPECT_EQ(recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)] + kept, 300'000u);
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
  ASSERT_NE(store.append_copy(events, status), 0u) << status.message();
  std::unique_ptr<trace::TraceFile> file;
  status = trace::TraceFile::open(path, file);
  ASSERT_TRUE(status.is_ok()) << status.message();
  ASSERT_NE(file->definitions().region(3), nullptr);
  EXPECT_EQ(file->definitions().region(3)->name, "MPI_Send");
  Call call;
  EXPECT_TRUE(file->calls(0)->next(call));
}

/// Definitions have 64 MiB beyond the limit.
TEST_F(RecorderTest, DefinitionsWithoutSpaceAreCounted) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kStop);
  const std::string name(1000, 'n');
  constexpr TensorId kNames = 80'000;
  for (TensorId id = 0; id < kNames; ++id) EXPECT_TRUE(recorder.define_tensor(id, name));
  (void)recorder.finish(EndState::kFinalized);
  const std::uint64_t lost = recorder.losses()[static_cast<std::size_t>(LossCause::kBufferFull)];
  EXPECT_GT(lost, 5'000u);
  EXPECT_LT(lost, kNames / 2);
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
