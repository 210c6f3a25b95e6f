#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/record/definitions.h"

namespace megascope::trace {

/// Moves a file, also to another file system (then it gets its final name only when whole). An existing file is not
/// overwritten.
Status move_file(const std::string& from, const std::string& to);
/// The same, leaving the original.
Status copy_file(const std::string& from, const std::string& to);

/// move_file() of a trace; a copy of the same process's trace that was taken while it ran is replaced.
Status move_trace(const std::string& from, const std::string& to);

/// Is the process that left this trace there? Told only on the machine that it runs on (not, when it has been started anew).
enum class Liveness { kUnknown, kRuns, kGone };
Liveness liveness_of(const ProcessInfo& info);

struct RecoverResult {
  std::vector<std::string> recovered;  ///< paths of traces brought into the run folder
  std::vector<std::string> problems;   ///< sentences
  std::size_t trace_count = 0;         ///< native traces in the run folder afterwards that can be read
  std::int32_t world_size = 0;         ///< of the run, as its traces say; 0: there is none
  std::vector<std::int32_t> ranks;     ///< world ranks of those traces, ascending
};

/// Brings what a run left on this node's scratch storage into its run folder, as normal traces. Safe to repeat; traces of
/// processes that still run are copied as they are now. An error when there is no readable trace then.
/// scratches: where to look besides the scratch folder that rank 0 had; each node may have its own.
Status recover_run(const std::string& folder, RecoverResult& result, const std::vector<std::string>& scratches = {});

/// What a run left on this node's scratch storage.
struct Leftover {
  std::string scratch;         ///< one of those given
  std::string scratch_folder;  ///< `<scratch>/megascope-<uid>/<run id>`
  std::string run_folder;      ///< where it belongs; empty: not found from here
  bool is_running = false;     ///< some process of it still writes here
};

/// All that runs of this user left below these scratch folders, which need not exist. Changes nothing.
std::vector<Leftover> find_leftovers(const std::vector<std::string>& scratches);

}  // namespace megascope::trace
