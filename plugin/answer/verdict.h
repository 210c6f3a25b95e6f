#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>

namespace megascope::answer {

/// What `megascope analyze` says first, of a run whose traces are all in one directory, of one run,
/// and whole.
struct VerdictJob {
  std::string directory;     ///< the run directory
  std::uint64_t max_ns = 0;  ///< time to work, by the wall clock
};

/// text: a sentence or two; empty: time was up. An error: there is none, and why. By one thread,
/// which does all the work.
Status make_verdict(const VerdictJob& job, std::string& text);

}  // namespace megascope::answer
