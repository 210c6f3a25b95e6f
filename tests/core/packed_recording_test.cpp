#include "core/trace/chunk_words.h"
#include "tests/core/recorder_fixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>

/// Packed chunks in files: of processes that are killed, damaged, overwritten, of other versions.
namespace megascope {
namespace {

#ifdef MEGASCOPE_TEST_ROUNDS
constexpr int kRounds = MEGASCOPE_TEST_ROUNDS;
#else
constexpr int kRounds = 500;  ///< kills of each policy, damaged places
#endif
constexpr std::uint32_t kCallsOfAChunk = 16'376;
constexpr std::uint32_t kNumbers = 0x8000;  ///< numbers of calls are modulo this

class PackedRecordingTest : public RecorderTest {
 protected:
  std::string path() const { return directory_ / "rank-0.mgt"; }
  std::vector<std::byte> content() const {
    std::ifstream file(path(), std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::byte> result(bytes.size());
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  static std::vector<std::uint32_t> calls_of(const trace::TraceFile& file) {
    std::vector<std::uint32_t> numbers;
    const auto calls = file.calls(0);
    for (Call call; calls->next(call);) numbers.push_back(call.comm);
    return numbers;
  }
  static std::uint64_t damaged(const trace::TraceFile& file) {
    return file.definitions().losses[static_cast<std::size_t>(LossCause::kDamaged)];
  }
  void record_to_the_end(std::uint32_t count) {
    Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
    on_a_thread([&] { record(recorder, 0, count); });
    ASSERT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  }

  /// A process that records until it is killed. Returns the number of its calls that had returned.
  std::uint64_t kill_a_recording_process(std::uint64_t size_bytes, BufferPolicy policy,
                                         std::uint64_t after_calls, int thread_count = 1);
  [[noreturn]] static void record_for_ever(Recorder& recorder,
                                           std::atomic<std::uint64_t>& returned);
};

void PackedRecordingTest::record_for_ever(Recorder& recorder,
                                          std::atomic<std::uint64_t>& returned) {
  EventBuffer* const buffer = recorder.buffer_of_this_thread();
  for (std::uint64_t i = 0;; ++i) {
    if (buffer->ensure(encoding::kBareWords)) {
      encoding::Word* const to = buffer->cursor();
      to[0] = i % kNumbers << 16 | 3;  // no clock: it would take most of the time
      to[1] = encoding::Word{1} | i % kNumbers << 32;
      buffer->commit(to + encoding::kBareWords);
    }
    returned.fetch_add(1, std::memory_order_release);
  }
}

std::uint64_t PackedRecordingTest::kill_a_recording_process(std::uint64_t size_bytes,
                                                            BufferPolicy policy,
                                                            std::uint64_t after_calls,
                                                            int thread_count) {
  std::filesystem::remove(path());
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0);
  auto* const returned = new (shared) std::atomic<std::uint64_t>(0);
  const pid_t child = fork();
  if (child == 0) {
    Recorder& recorder = make(size_bytes, policy);
    for (int i = 1; i < thread_count; ++i)
      std::thread([&] { record_for_ever(recorder, *returned); }).detach();
    record_for_ever(recorder, *returned);
  }
  while (returned->load() < after_calls) usleep(20);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const std::uint64_t count = returned->load();
  munmap(shared, 4096);
  return count;
}

TEST_F(PackedRecordingTest, AKillAtAnyMomentLosesNothing) {
  std::mt19937 random(11);
  std::uint64_t packed_count = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t returned = kill_a_recording_process(
        std::uint64_t{256} << 20, BufferPolicy::kStop, 15'000 + random() % 30'000);
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_GE(found[0].size(), returned) << i;
    ASSERT_LE(found[0].size(), returned + 1) << "the call that was being recorded";
    ASSERT_EQ(found[0].front(), 0u);
    expect_consecutive(found[0]);
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    for (const auto& chunk : file->chunks(0)) packed_count += chunk.is_packed ? 1 : 0;
  }
  EXPECT_GT(packed_count, static_cast<std::uint64_t>(kRounds))
      << "the processes were killed before they packed anything";
}

TEST_F(PackedRecordingTest, AKillOfAFlightRecorderLosesWhatIsCounted) {
  std::mt19937 random(12);
  std::uint64_t dropped_count = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t returned = kill_a_recording_process(
        std::uint64_t{600} << 10, BufferPolicy::kFlight, 60'000 + random() % 60'000);
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    expect_consecutive(found[0]);
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    const std::uint64_t lost = file->definitions()
                                   .losses[static_cast<std::size_t>(LossCause::kBufferFull)];
    ASSERT_GE(lost + found[0].size(), returned) << i;
    // A chunk may be counted and not yet gone.
    ASSERT_LE(lost + found[0].size(), returned + 1 + kCallsOfAChunk) << i;
    ASSERT_EQ(found[0].back(), (returned - 1 + (found[0].back() == returned % kNumbers)) % kNumbers)
        << i << ": the newest is kept";
    dropped_count += lost;
  }
  EXPECT_GT(dropped_count, static_cast<std::uint64_t>(kRounds) * 200)
      << "the processes were killed before they dropped anything";
}

/// Several threads drop each other's chunks and write into what becomes free.
TEST_F(PackedRecordingTest, AKillOfThreadsThatDropEachOthersChunksLosesWhatIsCounted) {
  constexpr int kThreads = 4;
  std::mt19937 random(13);
  std::uint64_t dropped_count = 0;
  for (int i = 0; i < kRounds / 5; ++i) {
    const std::uint64_t returned = kill_a_recording_process(
        std::uint64_t{1800} << 10, BufferPolicy::kFlight, 200'000 + random() % 300'000, kThreads);
    std::uint64_t kept = 0;
    for (const auto& of_thread : numbers()) {
      expect_consecutive(of_thread);
      kept += of_thread.size();
    }
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    const std::uint64_t lost = file->definitions()
                                   .losses[static_cast<std::size_t>(LossCause::kBufferFull)];
    ASSERT_GE(lost + kept, returned) << i;
    ASSERT_LE(lost + kept, returned + kThreads * (1 + kCallsOfAChunk)) << i;
    dropped_count += lost;
  }
  EXPECT_GT(dropped_count, static_cast<std::uint64_t>(kRounds) * 200);
}

/// On network and copy-on-write file systems a kill costs the chunk in use, of 1 MiB at most, and
/// with it the first one if that is not full.
constexpr std::uint64_t kCallsOfAPrivateChunk = 65'528;

TEST_F(PackedRecordingTest, AKillLosesTheChunkInUseIfChunksArePrivate) {
  backing_ = trace::Backing::kWritten;
  std::mt19937 random(14);
  for (int i = 0; i < kRounds / 5; ++i) {
    const std::uint64_t returned = kill_a_recording_process(
        std::uint64_t{256} << 20, BufferPolicy::kStop, 70'000 + random() % 150'000);
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_GE(found[0].size() + 1 + kCallsOfAPrivateChunk, returned) << i;
    ASSERT_LE(found[0].size(), returned + 1);
    ASSERT_FALSE(found[0].empty());
    ASSERT_EQ(found[0].front(), 0u);
    expect_consecutive(found[0]);
  }
}

TEST_F(PackedRecordingTest, AKillOfAFlightRecorderLosesTheChunkInUseIfChunksArePrivate) {
  backing_ = trace::Backing::kWritten;
  std::mt19937 random(15);
  std::uint64_t dropped_count = 0;
  for (int i = 0; i < kRounds / 5; ++i) {
    const std::uint64_t returned = kill_a_recording_process(
        std::uint64_t{2400} << 10, BufferPolicy::kFlight, 400'000 + random() % 300'000);
    const auto found = numbers();
    ASSERT_EQ(found.size(), 1u);
    expect_consecutive(found[0]);
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    const std::uint64_t lost = file->definitions()
                                   .losses[static_cast<std::size_t>(LossCause::kBufferFull)];
    ASSERT_GE(lost + found[0].size() + 1 + kCallsOfAPrivateChunk, returned) << i;
    ASSERT_LE(lost + found[0].size(), returned + 1 + kCallsOfAPrivateChunk) << i;
    dropped_count += lost;
  }
  EXPECT_GT(dropped_count, static_cast<std::uint64_t>(kRounds) * 200);
}

/// A reader of a running process whose chunks are dropped and overwritten all the time reads calls
/// that were made, in their order, or none.
TEST_F(PackedRecordingTest, ARunningFlightRecorderShowsNoCallThatWasNotMade) {
  Recorder& recorder = make(std::uint64_t{1} << 20, BufferPolicy::kFlight);
  const std::uint64_t start_ticks = recorder.ticks();
  std::atomic<bool> is_done{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      for (std::uint32_t number = 0; !is_done; number += 1000) record(recorder, number, 1000);
    });
  }
  std::size_t read_count = 0;
  for (int round = 0; round < kRounds / 4 || read_count <= 10'000; ++round) {
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    EXPECT_EQ(damaged(*file), 0u);
    for (const LocationDefinition& location : file->definitions().locations) {
      std::uint64_t last_ticks = start_ticks;
      const auto calls = file->calls(location.id);
      for (Call call; calls->next(call); last_ticks = call.enter_ns) {
        ASSERT_GE(call.enter_ns, last_ticks);
        ASSERT_EQ(call.region, 3);
        ++read_count;
      }
      ASSERT_LE(last_ticks, recorder.ticks());
    }
  }
  is_done = true;
  for (std::thread& writer : writers) writer.join();
  (void)recorder.finish(EndState::kFinalized);
}

/// Each bit of a packed chunk's header matters: flipped, the chunk is damage, and all others are
/// read.
TEST_F(PackedRecordingTest, ADamagedHeaderCostsItsChunkOnly) {
  record_to_the_end(80'000);
  std::vector<std::byte> bytes = content();
  std::unique_ptr<trace::TraceFile> whole;
  ASSERT_TRUE(trace::TraceFile::parse(bytes, whole).is_ok());
  ASSERT_GE(whole->chunks(0).size(), 4u);
  const trace::TraceFile::Chunk chunk = whole->chunks(0)[2];
  ASSERT_TRUE(chunk.is_packed);
  const std::size_t call_count = calls_of(*whole).size();
  const std::size_t calls_in_chunk = chunk.header->packed_calls;
  const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(chunk.header) -
                                           bytes.data());
  constexpr std::size_t kBits = sizeof(trace::ChunkHeader) * 8;
  for (std::size_t bit = 0; bit < kBits; bit += kRounds < 500 ? 31 : 1) {
    bytes[at + bit / 8] ^= std::byte{1} << bit % 8;
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::parse(bytes, file).is_ok());
    EXPECT_EQ(damaged(*file), 1u) << "bit " << bit;
    EXPECT_EQ(calls_of(*file).size(), call_count - calls_in_chunk) << "bit " << bit;
    bytes[at + bit / 8] ^= std::byte{1} << bit % 8;
  }
}

TEST_F(PackedRecordingTest, DamagedContentIsFoundAndCounted) {
  record_to_the_end(80'000);
  std::vector<std::byte> bytes = content();
  std::unique_ptr<trace::TraceFile> whole;
  ASSERT_TRUE(trace::TraceFile::parse(bytes, whole).is_ok());
  const trace::TraceFile::Chunk chunk = whole->chunks(0)[1];
  ASSERT_TRUE(chunk.is_packed);
  const std::size_t call_count = calls_of(*whole).size();
  const auto begin = static_cast<std::size_t>(chunk.content.data() - bytes.data());
  for (std::size_t i = 0; i < chunk.content.size(); i += chunk.content.size() / kRounds) {
    bytes[begin + i] ^= std::byte{0x10};
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::parse(bytes, file).is_ok());
    EXPECT_EQ(damaged(*file), 1u) << i;
    EXPECT_EQ(calls_of(*file).size(), call_count - chunk.header->packed_calls) << i;
    bytes[begin + i] ^= std::byte{0x10};
  }
}

TEST_F(PackedRecordingTest, ATruncatedFileHasItsWholeChunks) {
  record_to_the_end(80'000);
  const std::vector<std::byte> bytes = content();
  std::size_t last = 0;
  for (std::size_t left = bytes.size() - trace::kFileHeaderBytes;;
       left -= std::min(left, std::size_t{4093})) {
    const std::size_t size = bytes.size() - left;
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::parse(std::span(bytes).first(size), file).is_ok());
    if (file->definitions().locations.empty()) continue;
    const auto found = calls_of(*file);
    EXPECT_GE(found.size(), last);
    for (std::size_t i = 1; i < found.size(); ++i) {  // whole chunks are missing, or nothing
      const std::uint32_t missing = (found[i] - found[i - 1] - 1) % kNumbers;
      EXPECT_TRUE(missing == 0 || missing > 16'000) << missing;
    }
    last = found.size();
    if (left == 0) break;
  }
  EXPECT_EQ(last, 80'000u);
}

/// A reader that has opened a running process's trace reads no record of a chunk that replaced the
/// one that it knows.
TEST_F(PackedRecordingTest, AChunkThatWasOverwrittenSinceIsAGap) {
  Recorder& recorder = make(std::uint64_t{800} << 10, BufferPolicy::kFlight);
  on_a_thread([&] {
    record(recorder, 0, 200'000);
    std::unique_ptr<trace::TraceFile> file;
    ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
    const auto before = calls_of(*file);
    ASSERT_GT(before.size(), 50'000u);
    record(recorder, 200'000, 50'000);
    std::vector<std::uint32_t> after = calls_of(*file);
    EXPECT_LT(after.size(), before.size());
    EXPECT_GT(after.size(), 1000u);
    EXPECT_TRUE(std::equal(after.rbegin(), after.rbegin() + 1000, before.rbegin()));
    std::uint64_t last_ticks = 0;
    const auto calls = file->calls(0);
    for (Call call; calls->next(call); last_ticks = call.enter_ns)
      ASSERT_GE(call.enter_ns, last_ticks);
  });
  (void)recorder.finish(EndState::kFinalized);
}

TEST_F(PackedRecordingTest, VersionsAreToldApart) {
  record_to_the_end(10);
  std::vector<std::byte> bytes = content();
  auto& header = *reinterpret_cast<trace::FileHeader*>(bytes.data());
  std::unique_ptr<trace::TraceFile> file;
  header.version = 1;  // nothing is packed
  ASSERT_TRUE(trace::TraceFile::parse(bytes, file).is_ok());
  EXPECT_EQ(file->format_version(), 1u);
  EXPECT_EQ(calls_of(*file).size(), 10u);
  header.version = 3;
  EXPECT_EQ(trace::TraceFile::parse(bytes, file).message(),
            "has format version 3, this program reads versions 1 to 2");
}

/// A region with an annotation in each takes a few bytes.
TEST_F(PackedRecordingTest, AnnotationsArePackedToo) {
  Recorder& recorder = make(std::uint64_t{64} << 20, BufferPolicy::kStop);
  on_a_thread([&] {
    EventBuffer* const hooks = recorder.hooks_of_this_thread();
    ASSERT_NE(hooks, nullptr);
    for (int i = 0; i < 100'000; ++i) {
      ASSERT_TRUE(hooks->ensure(2));
      encoding::Word* const to = hooks->cursor();
      to[0] = encoding::entry_word(recorder.ticks(), hooks->base_ticks(), 3);
      to[1] = encoding::entry_word(recorder.ticks(), hooks->base_ticks(), 0xFFE8);
      hooks->commit(to + 2);
    }
  });
  ASSERT_TRUE(recorder.finish(EndState::kFinalized).is_ok());
  std::unique_ptr<trace::TraceFile> file;
  ASSERT_TRUE(trace::TraceFile::open(path(), file).is_ok());
  const auto& chunks = file->hook_chunks(0);
  ASSERT_GT(chunks.size(), 4u);
  EXPECT_TRUE(chunks[2].is_packed);
  EXPECT_LT(chunks[2].content.size() * 3, chunks[2].word_count * sizeof(encoding::Word));
  EXPECT_EQ(calls_of(*file).size(), 100'000u);
}

}  // namespace
}  // namespace megascope
