#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>

namespace megascope::answer {

/// Input of make_verdict(). The directory has the complete traces of one run, and of no other.
struct VerdictJob {
  std::string directory;     ///< the run directory
  std::uint64_t max_ns = 0;  ///< time to work, by the wall clock
};

/// Computes the verdict: the first text of `megascope analyze`. text: one or two sentences; empty
/// if the time did not suffice. Returns an error with the reason if there is no verdict. Starts no
/// threads. Runs in the program `megascope_verdict`.
Status make_verdict(const VerdictJob& job, std::string& text);

}  // namespace megascope::answer
