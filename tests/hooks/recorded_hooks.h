#pragma once

#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/record/user_regions.h"
#include "core/trace/reader.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/// Hooks into a recorder of their own, in a process of its own for each test: a recording is for a
/// process.
namespace megascope::hooks {

inline constexpr std::uint8_t kAll = kRegions | kTensors | kShows;

class HookRecorder : public testing::Test {
 protected:
  std::string path() const { return directory_ / "rank-0.mgt"; }

  /// Runs `tell` in a child process that records; true: it ended by itself with 0.
  bool in_child(const std::function<void(Recorder&)>& annotate, const StepWindow& window = {},
                BufferPolicy policy = BufferPolicy::kStop, std::uint64_t size_bytes = 64 << 20,
                bool finishes = true) {
    const pid_t child = fork();
    if (child == 0) {
      auto* recorder = new Recorder({.path = path(),
                                     .size_bytes = size_bytes,
                                     .policy = policy,
                                     .use_tsc = false,
                                     .has_windows = !window.has_all()});
      ProcessInfo info;
      info.run_id = "test";
      info.pid = getpid();
      info.world_size = 8;
      bool is_sound = recorder->open(info).is_ok();
      open(*recorder, gate_, window);
      annotate(*recorder);
      close();
      if (finishes) is_sound = recorder->finish(EndState::kFinalized).is_ok() && is_sound;
      _exit(is_sound && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      EXPECT_TRUE(trace::TraceFile::open(path(), file_).is_ok());
      return file_ != nullptr;
    }
    return false;
  }

  /// "name[step] enter<leave" without times: nesting by indentation.
  std::vector<std::string> outline(LocationId location = 0) const {
    std::vector<std::string> lines;
    std::vector<std::uint64_t> open;
    const auto calls = file_->calls(location);
    for (Call call; calls->next(call);) {
      while (!open.empty() && open.back() <= call.enter_ns && open.back() != call.leave_ns)
        open.pop_back();
      std::string line(open.size(), '>');
      line += file_->definitions().region(call.region)->name;
      if (annotated_step(call) >= 0) line += " " + std::to_string(annotated_step(call));
      if (call.is_pending) line += " pending";
      for (const Fact& fact : call.facts) {
        if (value_name_of(fact) == ValueName::kContinued) line += " continued";
      }
      lines.push_back(line);
      open.push_back(call.leave_ns);
    }
    return lines;
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> numbers;
    const auto calls = file_->calls(0);
    for (Call call; calls->next(call);) {
      if (annotated_step(call) >= 0) numbers.push_back(annotated_step(call));
    }
    return numbers;
  }
  std::uint64_t losses(LossCause cause) const {
    return file_->definitions().losses[static_cast<std::size_t>(cause)];
  }

  std::uint8_t gate_ = kAll;
  const test::TemporaryDirectory directory_;
  std::unique_ptr<trace::TraceFile> file_;
};

/// Long enough for the clock to move.
inline void pause() { usleep(100); }

}  // namespace megascope::hooks
