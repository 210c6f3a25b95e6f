#include "core/buffer/recorder.h"
#include "core/trace/reader.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

/// The call that a thread is in, read while the thread goes on.
namespace megascope {
namespace {

constexpr std::uint32_t kNumbers = 0x8000;  ///< calls are numbered by their communicator

/// Records bare calls of region 3 that are marked as pending first and last a moment.
void record(Recorder& recorder, std::uint32_t count) {
  constexpr int kMoment = 200;
  EventBuffer* buffer = recorder.buffer_of_this_thread();
  ASSERT_NE(buffer, nullptr);
  std::atomic<int> moments{0};
  for (std::uint32_t i = 0; i < count; ++i) {
    const encoding::Word comm = encoding::Word{i % kNumbers} << 32;
    encoding::Word* mark = buffer->pending().words;
    mark[1] = comm;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint64_t entered = recorder.ticks();
    mark[0] = encoding::entry_word(entered, buffer->base_ticks(), 3);
    for (int passed = 0; passed < kMoment; ++passed) ++moments;
    if (!buffer->ensure(encoding::kBareWords)) continue;
    encoding::Word* to = buffer->cursor();
    to[0] = encoding::entry_word(entered, buffer->base_ticks(), 3);
    to[1] = encoding::Word{1} | comm;
    buffer->commit(to + encoding::kBareWords);
  }
}

/// Returns the number of pending calls in the trace, 0 or 1. Expects that it follows the recorded
/// ones.
int count_pending(const trace::TraceFile& file) {
  if (file.definitions().locations.empty()) return 0;
  int count = 0;
  std::uint32_t last = kNumbers - 1;
  const auto calls = file.calls(0);
  for (Call call; calls->next(call); last = call.comm) {
    if (!call.is_pending) continue;
    EXPECT_EQ(call.comm, (last + 1) % kNumbers);
    ++count;
  }
  return count;
}

/// Otherwise a healthy program is read as one that waits for a message that it has received.
TEST(PendingCall, IsTheNextAfterTheRecordedOnes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "rank-0.mgt";
  static auto* const recorder = new Recorder(  // never destroyed, as in a program
      {.path = path,
       .size_bytes = std::uint64_t{64} << 20,
       .policy = BufferPolicy::kStop,
       .use_tsc = false});
  ProcessInfo info;
  info.pid = getpid();
  ASSERT_TRUE(recorder->open(info).is_ok());
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    record(*recorder, 300'000);
    is_done = true;
  });
  int pending_count = 0;
  while (!is_done && !testing::Test::HasFailure()) {
    std::unique_ptr<trace::TraceFile> file;
    EXPECT_TRUE(trace::TraceFile::open(path, file).is_ok());
    if (file != nullptr) pending_count += count_pending(*file);
  }
  writer.join();
  EXPECT_GT(pending_count, 0);
  (void)recorder->finish(EndState::kFinalized);
}

}  // namespace
}  // namespace megascope
