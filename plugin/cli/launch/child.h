#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace megascope::cli {

/// An environment variable to set in the child.
struct Setting {
  std::string name;
  std::string value;
};

/// How a child process ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  ///< the signal that killed it; 0: it exited
};

/// Starts `command` (searched in PATH) and waits for its end. Signals sent to this process
/// meanwhile are forwarded to the child, except those that the terminal sends to both. Signal
/// actions are restored afterwards. Returns an error if the command cannot be started.
Status run_child(const std::vector<std::string>& command, const std::vector<Setting>& settings,
                 ChildEnd& end);

/// Replaces this process by `command`. Returns only on error.
Status become(const std::vector<std::string>& command, const std::vector<Setting>& settings);

/// Reads from a pipe until end of file, until `text` has `max_bytes` bytes, or until it ends with
/// `until` (if that is not empty). Returns false if none of these happened within `limit_ms`.
bool read_within(int file, int limit_ms, std::size_t max_bytes, std::string_view until,
                 std::string& text);

/// Kills a child and waits for its end, at most half a second: a process blocked on a file server
/// cannot be killed.
void end_child(pid_t pid);

/// The output that output_of() collects.
enum class OutputOf {
  kStdout,  ///< standard output only
  kBoth     ///< standard output and standard error
};
/// Runs a program and returns its output, at most 64 KiB. Returns an empty text if the program
/// cannot be started. If its output does not end within 15 s, kills the program and returns an
/// empty text.
std::string output_of(const std::vector<std::string>& command, OutputOf which = OutputOf::kStdout);

/// Ends this process in the same way as the child: with its exit code or by its signal, but without
/// a core file.
[[noreturn]] void end_like(const ChildEnd& end);

}  // namespace megascope::cli
