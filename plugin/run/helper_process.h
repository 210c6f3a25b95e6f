#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::run {

/// Runs a program as a separate process and collects its standard output, at most 64 KiB. The
/// application cannot observe the process, even if it crashes: there is no SIGCHLD, no child that
/// the application's wait() could return, and no pthread_atfork handler runs.
/// words: path and arguments. The process gets an empty environment and none of the application's
/// file descriptors.
/// max_ns: timeout. After it the process is killed; the result is ok and is_late is true.
/// The exit status is not available: the output must show whether the program succeeded.
Status run_helper(const std::vector<std::string>& words, std::uint64_t max_ns, std::string& output,
                  bool& is_late);

}  // namespace megascope::run
