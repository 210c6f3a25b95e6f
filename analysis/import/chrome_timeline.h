#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <istream>

namespace megascope::importer {

/// Reads a Chrome trace of a training job: an array of events, or an object with `traceEvents`. An
/// `X` event, or a `B` event with its `E` event, is an operation. `M` events name tracks.
/// `args.step`, `args.mb_id`, `args.model_chunk` and `args.seq_id` are read, as well as
/// `micro_batch_index` and `microbatch`. The grid coordinates of a track are read from the names of
/// its process and thread ("PP rank 2, TP rank 0, compute"; "DP1-PP0-TP3"). If neither name
/// contains a DP coordinate, the process number is the DP rank. If the names contain no coordinate
/// at all, the process number is the world rank. Missing or wrong data is recorded in
/// Timeline::estimates and Timeline::repairs; call mend() next. The input is untrusted. Memory: 64
/// bytes per operation. An error names the event.
Status read_chrome(std::istream& from, Timeline& timeline);

/// Reads grid coordinates from the name of a process or thread and sets them in `coordinates`.
/// Returns the rest of the name: the name of the stream.
std::string read_coordinates(const std::string& name, GridCoordinates& coordinates);

}  // namespace megascope::importer
