#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>

namespace megascope::answer {

/// Input of make_verdict(). The directory must have the complete traces of one run and no other
/// traces.
struct VerdictJob {
  std::string directory;     ///< the run directory
  std::uint64_t max_ns = 0;  ///< wall-clock time after which make_verdict() gives up
};

/// Computes the verdict: the first text of `megascope analyze`. text: one or two sentences; empty
/// if the time did not suffice. Returns an error if the run cannot be analyzed. Starts no threads.
/// Runs in the program `megascope_verdict`.
Status make_verdict(const VerdictJob& job, std::string& text);

}  // namespace megascope::answer
