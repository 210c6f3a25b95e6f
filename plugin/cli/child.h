#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace megascope::cli {

/// An environment variable of the child.
struct Setting {
  std::string name;
  std::string value;
};

/// How a child ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  ///< that killed it; 0: none
};

/// Starts `command` (searched in PATH) as a child and waits for its end. Signals sent to this
/// process meanwhile go to the child; what the terminal sends to both is left to the child.
/// Afterwards signals do what they did before. An error when it could not be started.
Status run_child(const std::vector<std::string>& command, const std::vector<Setting>& settings,
                 ChildEnd& end);

/// Becomes `command`; returns only with an error.
Status become(const std::vector<std::string>& command, const std::vector<Setting>& settings);

/// Reads from a pipe until its other end is closed, `most_bytes` are there, or, with an `until`,
/// the text ends in it. false: none of that within `limit_ms`.
bool read_within(int file, int limit_ms, std::size_t most_bytes, std::string_view until,
                 std::string& text);

/// Kills a child and waits for its end, half a second at most: one that waits for a file server
/// cannot be ended.
void end_child(pid_t pid);

enum class OutputOf { kStdout, kBoth };
/// What a program prints, up to 64 KiB; empty when it cannot be run or does not end within 15 s. It
/// is ended then.
std::string output_of(const std::vector<std::string>& command, OutputOf which = OutputOf::kStdout);

/// Ends this process as the child ended: with its exit code or by its signal, without a core of its
/// own.
[[noreturn]] void end_like(const ChildEnd& end);

}  // namespace megascope::cli
