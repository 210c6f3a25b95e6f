#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <istream>

namespace megascope::importer {

/// Reads a Chrome trace of a training job: an array of events, or an object with `traceEvents`. `X`
/// events, and `B` with `E`, are operations; `M` events name tracks. `args.step`, `args.mb_id`,
/// `args.model_chunk` and `args.seq_id` are understood, as well as `micro_batch_index` and
/// `microbatch`. A track's place is read from the names of its process and thread ("PP rank 2, TP
/// rank 0, compute"; "DP1-PP0-TP3"); where neither says anything of DP, the process's number is the
/// DP rank; where nothing is said at all, it is the world rank. What is missing or wrong is noted
/// in `estimates` and `repairs`, for mend(). Untrusted. Memory: 64 bytes an operation. An error
/// names the event.
Status read_chrome(std::istream& from, Timeline& timeline);

/// What the names of a process or thread say about its place: adds to `place`. Returns the rest,
/// the stream's name.
std::string read_coordinates(const std::string& name, GridCoordinates& coordinates);

}  // namespace megascope::importer
