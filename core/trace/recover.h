#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace megascope::trace {

/// Moves a file, also to another file system (then it gets its final name only when whole). An existing file is not
/// overwritten.
Status move_file(const std::string& from, const std::string& to);
/// The same, leaving the original.
Status copy_file(const std::string& from, const std::string& to);

/// `<scratch>/megascope-<uid>/<run id>`.
std::string scratch_folder_of(const std::string& scratch, const std::string& run_id);

struct RecoverResult {
  std::vector<std::string> recovered;  ///< paths of traces brought into the run folder
  std::vector<std::string> problems;   ///< sentences
  std::size_t trace_count = 0;         ///< native traces in the run folder afterwards
};

/// Brings what a run left on this node's scratch storage into its run folder, as normal traces. Safe to repeat; traces of
/// processes that still run are copied as they are now. An error when there is neither a trace nor a way to one.
Status recover_run(const std::string& folder, RecoverResult& result);

}  // namespace megascope::trace
