#include "core/trace/reader.h"
#include "core/trace/sealed_chunk.h"
#include "tests/core/sample_trace.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/inotify.h>
#include <thread>
#include <unistd.h>

/// Traces with damaged chunks, of processes that were killed: their header says that they run.
namespace megascope::trace {
namespace {

using encoding::Word;

/// Calls of communicators `first` to `first + count - 1`, one each tick.
std::vector<Word> calls_from(std::uint32_t first, std::uint32_t count) {
  std::vector<Word> words;
  for (std::uint32_t i = 0; i < count; ++i) {
    words.push_back(call_word0(i, 1));
    words.push_back(call_word1(1, first + i, FactKind::kNone, 0));
  }
  return words;
}

/// A trace in memory that the test damages.
class Damaged {
 public:
  explicit Damaged(const SampleTrace& trace) : words_(trace.bytes().size() / sizeof(Word)) {
    std::memcpy(words_.data(), trace.bytes().data(), trace.bytes().size());
  }
  ChunkHeader& chunk(std::size_t index) {
    return *reinterpret_cast<ChunkHeader*>(reinterpret_cast<std::byte*>(words_.data()) +
                                           kFileHeaderBytes + index * kChunkAlignment);
  }
  std::byte* content(std::size_t index) { return reinterpret_cast<std::byte*>(&chunk(index) + 1); }
  /// Makes the checksum of a packed chunk right again.
  void sum_up(std::size_t index) {
    ChunkHeader& header = chunk(index);
    header.checksum = checksum_of(header,
                                  {content(index), header.used_bytes.load() - sizeof header});
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }

 private:
  std::vector<Word> words_;
};

std::uint64_t damage_of(const TraceFile& file) {
  return file.definitions().losses[static_cast<std::size_t>(LossCause::kDamaged)];
}

std::vector<CommId> comms_of(const TraceFile& file) {
  std::vector<CommId> comms;
  const auto calls = file.calls(0);
  for (Call call; calls->next(call);) comms.push_back(call.comm);
  return comms;
}

/// Counts how often a file is opened.
class OpenCount {
 public:
  explicit OpenCount(const std::filesystem::path& path)
      : events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        // Equal events that follow each other become one: those of the directory separate them.
        directory_(inotify_add_watch(events_, path.parent_path().c_str(), IN_OPEN)),
        file_(inotify_add_watch(events_, path.c_str(), IN_OPEN)) {
    EXPECT_TRUE(directory_ >= 0 && file_ >= 0);
  }
  ~OpenCount() { close(events_); }
  OpenCount(const OpenCount&) = delete;
  OpenCount& operator=(const OpenCount&) = delete;
  int take() const {
    int count = 0;
    alignas(inotify_event) char buffer[4096];
    for (ssize_t size; (size = read(events_, buffer, sizeof buffer)) > 0;) {
      for (const char* at = buffer; at < buffer + size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(at);
        count += event->wd == file_ ? 1 : 0;
        at += sizeof *event + event->len;
      }
    }
    return count;
  }

 private:
  int events_;
  int directory_;
  int file_;
};

class DamagedTraceTest : public testing::Test {
 protected:
  std::unique_ptr<TraceFile> opened(const Damaged& trace, int& open_count) {
    const std::string path = directory_ / "rank-0.mgt";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(trace.bytes().data()),
               static_cast<std::streamsize>(trace.bytes().size()));
    const OpenCount count(path);
    std::unique_ptr<TraceFile> file;
    EXPECT_TRUE(TraceFile::open(path, file).is_ok());
    open_count = count.take();
    return file;
  }

  const test::TemporaryDirectory directory_;
};

TEST_F(DamagedTraceTest, IsReadTwiceAtMost) {
  Damaged trace(SampleTrace()
                    .events(0, 0, 100, calls_from(0, 50))
                    .events(0, 1, 200, calls_from(50, 3))
                    .pack());
  int open_count = 0;
  ASSERT_EQ(comms_of(*opened(trace, open_count)).size(), 53u);
  EXPECT_EQ(open_count, 1) << "of an undamaged one";
  trace.content(0)[7] ^= std::byte{4};
  const auto file = opened(trace, open_count);
  EXPECT_EQ(damage_of(*file), 1u);
  EXPECT_THAT(comms_of(*file), testing::ElementsAre(50, 51, 52));
  EXPECT_LE(open_count, 2);
}

TEST_F(DamagedTraceTest, IsReadTwiceAtMostIfTheChunkBeforeTheLastIsMissing) {
  SampleTrace trace;
  trace.events(0, 0, 100, calls_from(0, 50)).events(0, 1, 200, calls_from(50, 50)).pack();
  trace.events(0, 2, 300, calls_from(100, 3));  // the open chunk
  Damaged damaged(trace);
  damaged.chunk(1).kind = ChunkKind::kFree;
  damaged.sum_up(1);
  int open_count = 0;
  const auto file = opened(damaged, open_count);
  EXPECT_EQ(comms_of(*file).size(), 53u);
  EXPECT_LE(open_count, 2);
}

/// A chunk whose checksum is right, but which does not unpack. No recorder writes it.
TEST_F(DamagedTraceTest, ACopyThatDoesNotUnpackDoesNotReplaceOneThatDoes) {
  SampleTrace trace;
  trace.events(0, 0, 100, calls_from(0, 50)).pack();
  trace.events(0, 0, 100, calls_from(0, 50)).events(0, 1, 200, calls_from(50, 3));
  Damaged damaged(trace);
  damaged.chunk(0).packed_words += 2;
  damaged.sum_up(0);
  std::unique_ptr<TraceFile> file;
  ASSERT_TRUE(TraceFile::parse(damaged.bytes(), file).is_ok());
  EXPECT_EQ(comms_of(*file).size(), 53u);
  EXPECT_EQ(damage_of(*file), 1u);
}

TEST_F(DamagedTraceTest, AChunkThatDoesNotUnpackIsCountedOnceWhenItIsRead) {
  Damaged trace(SampleTrace()
                    .events(0, 0, 100, calls_from(0, 50))
                    .events(0, 1, 200, calls_from(50, 50))
                    .events(0, 2, 300, calls_from(100, 3))
                    .pack());
  trace.chunk(1).packed_words += 2;
  trace.sum_up(1);
  std::unique_ptr<TraceFile> file;
  ASSERT_TRUE(TraceFile::parse(trace.bytes(), file).is_ok());
  EXPECT_EQ(damage_of(*file), 0u);
  EXPECT_EQ(comms_of(*file).size(), 53u);
  EXPECT_EQ(damage_of(*file), 1u);
  EXPECT_EQ(comms_of(*file).size(), 53u);
  EXPECT_EQ(damage_of(*file), 1u);
}

/// The size of a chunk changes while the file is read: to one that is not possible, and back.
TEST_F(DamagedTraceTest, ASizeThatChangesCostsItsChunkOnly) {
  Damaged trace(
      SampleTrace().events(0, 0, 100, calls_from(0, 50)).events(1, 0, 200, calls_from(50, 3)));
  const std::atomic_ref<std::uint32_t> size(trace.chunk(0).chunk_bytes);
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    while (!is_done) {
      size = kChunkAlignment + sizeof(Word);
      for (int i = 0; i < 1000; ++i) is_done.load();
      size = kChunkAlignment;
      for (int i = 0; i < 1000; ++i) is_done.load();
    }
  });
  int missing_count = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    std::unique_ptr<TraceFile> file;
    ASSERT_TRUE(TraceFile::parse(trace.bytes(), file).is_ok());
    if (file->definitions().locations.size() < 2 || file->chunks(1).empty()) ++missing_count;
  }
  is_done = true;
  writer.join();
  EXPECT_EQ(missing_count, 0);
}

}  // namespace
}  // namespace megascope::trace
