#pragma once

#include "core/buffer/recorder.h"
#include "core/trace/reader.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace megascope {

/// Records bare calls of region 3, numbered by their communicator, and reads them from the file.
class RecorderTest : public testing::Test {
 protected:
  Recorder& make(std::uint64_t size_bytes, BufferPolicy policy,
                 std::function<bool(const BufferUse&)> on_tenth_used = {}) {
    static auto* const
        recorders = new std::vector<std::unique_ptr<Recorder>>;  // never destroyed, as in a program
    auto& recorder = recorders->emplace_back(
        std::make_unique<Recorder>(RecorderOptions{.path = directory_ / "rank-0.mgt",
                                                   .size_bytes = size_bytes,
                                                   .policy = policy,
                                                   .use_tsc = false,
                                                   .on_tenth_used = std::move(on_tenth_used),
                                                   .backing = backing_}));
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
  std::optional<trace::Backing> backing_;  ///< nothing: as the file system needs it
};

/// On a thread of its own: a thread keeps the buffer of its first recorder.
inline void on_a_thread(const std::function<void()>& action) { std::thread(action).join(); }

}  // namespace megascope
