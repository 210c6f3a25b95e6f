#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"
#include "core/trace/liveness.h"
#include "core/trace/move_trace.h"

#include <string>
#include <vector>

/// Recovers traces that killed processes left in scratch storage. Scratch storage is shared with
/// other users: only private directories of geteuid() are read (scratch_home.h), through
/// descriptors, and only regular files of that user. Run directories of other users are refused,
/// also for root.
namespace megascope::trace {

struct RecoverResult {
  std::vector<std::string> recovered;  ///< paths of traces brought into the run directory
  std::vector<std::string> problems;   ///< sentences
  std::size_t trace_count = 0;         ///< readable native traces in the run directory afterwards
  std::int32_t world_size = 0;  ///< world size according to these traces; 0: no trace is readable
  std::vector<std::int32_t> ranks;  ///< world ranks of these traces, ascending, each once
  std::size_t unproven_count = 0;   ///< traces that recover_leftover() did not touch, because their
                                    ///< processes may still run elsewhere
};

/// Brings the traces that a run left in this node's scratch storage into its run directory. It is
/// safe to repeat the call, to kill the process at any moment, and to call it in two processes at
/// once. A trace is moved only if its writer has provably ended (liveness.h), else copied as it is
/// now. Returns an error if the run directory has no readable trace afterwards or belongs to
/// another user. scratches: scratch directories to search in addition to that of rank 0, because
/// each node may have its own.
Status recover_run(const std::string& directory_path, RecoverResult& result,
                   const std::vector<std::string>& scratches = {});

/// Traces that a run left in this node's scratch storage.
struct Leftover {
  std::string scratch;            ///< one of the given directories
  std::string scratch_directory;  ///< `<scratch>/megascope-<uid>/<run id>`
  std::string run_directory;  ///< run directory of these traces; empty: not found from this node
  bool is_running = false;    ///< a process of the run is known to write in scratch_directory
};

/// Brings the traces of a leftover into its run directory, like recover_run(). Searches the
/// leftover's scratch directory and that of rank 0. Exception: traces whose writers have not
/// provably ended are not copied, because on shared scratch storage each node would copy the traces
/// of all running jobs.
Status recover_leftover(const Leftover& left, RecoverResult& result);

/// Finds the traces that runs of this user left below the scratch directories `scratches`, which
/// need not exist. Changes no file. problems: may be null; receives a sentence for each directory
/// that was refused.
std::vector<Leftover> find_leftovers(const std::vector<std::string>& scratches,
                                     std::vector<std::string>* problems = nullptr);

}  // namespace megascope::trace
