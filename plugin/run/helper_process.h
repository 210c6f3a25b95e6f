#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::run {

/// Runs a program of ours beside the application and collects what it writes to its standard
/// output, 64 KiB at most. Whatever happens to it (a crash, no memory), the application sees
/// nothing of it: no SIGCHLD, no child that its own wait() could find, no handler of
/// pthread_atfork. It has an empty environment and no other descriptor of the application. words:
/// path and arguments. Past `most_ns` it is killed: ok, and is_late. How it ended is not told: its
/// output must say.
Status run_helper(const std::vector<std::string>& words, std::uint64_t most_ns, std::string& output,
                  bool& is_late);

}  // namespace megascope::run
