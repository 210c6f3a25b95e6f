#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"
#include "core/trace/liveness.h"
#include "core/trace/move_trace.h"

#include <string>
#include <vector>

/// Recovery of traces that killed processes left in scratch storage. Scratch storage is shared with
/// other users: only private directories of geteuid() are read (scratch_home.h), through
/// descriptors, and only regular files of that user. Run directories of other users are refused,
/// for root too.
namespace megascope::trace {

struct RecoverResult {
  std::vector<std::string> recovered;  ///< paths of traces brought into the run folder
  std::vector<std::string> problems;   ///< sentences
  std::size_t trace_count = 0;      ///< native traces in the run folder afterwards that can be read
  std::int32_t world_size = 0;      ///< of the run, as its traces say; 0: there is none
  std::vector<std::int32_t> ranks;  ///< world ranks of those traces, ascending, each once
  std::size_t unproven_count = 0;  ///< traces that recover_leftover() left, because their processes
                                   ///< may still run elsewhere
};

/// Brings what a run left on this node's scratch storage into its run folder, as normal traces.
/// Safe to repeat, to kill at any moment and to run twice at once. A trace is moved only if its
/// writer is known to be gone (liveness.h), else copied as it is now. An error when there is no
/// readable trace then, or the folder belongs to another user. scratches: where to look besides the
/// scratch folder that rank 0 had; each node may have its own.
Status recover_run(const std::string& folder, RecoverResult& result,
                   const std::vector<std::string>& scratches = {});

/// What a run left on this node's scratch storage.
struct Leftover {
  std::string scratch;         ///< one of those given
  std::string scratch_folder;  ///< `<scratch>/megascope-<uid>/<run id>`
  std::string run_folder;      ///< where it belongs; empty: not found from here
  bool is_running = false;     ///< some process of it is known to write here
};

/// recover_run() of a leftover's run folder, from that scratch folder and the one that rank 0 had.
/// Traces whose writers are not known to be gone stay and are not copied: on shared scratch storage
/// each node would copy the traces of all that run.
Status recover_leftover(const Leftover& left, RecoverResult& result);

/// All that runs of this user left below these scratch folders, which need not exist. Changes
/// nothing. problems: where given, a sentence for each scratch folder that was refused.
std::vector<Leftover> find_leftovers(const std::vector<std::string>& scratches,
                                     std::vector<std::string>* problems = nullptr);

}  // namespace megascope::trace
