#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::importer {

/// Reads traces of PyTorch's profiler (Kineto) in the layout of Holistic Trace Analysis: either a
/// directory of `*.json` and `*.json.gz` files, or a list of files. A rank may have several files.
/// The rank is "distributedInfo.rank", or the number after "rank" in the file name.
/// `ProfilerStep#N` are the steps. The input is untrusted. Files that cannot be read are omitted
/// with a note; an error is returned if none can be read. Memory: 64 bytes per operation, and 200
/// per collective.
Status read_pytorch(const std::vector<std::string>& sources, Timeline& timeline);

/// Returns the rank in a file name ("rank-3.1234.pt.trace.json", "trace_rank_3.json.gz",
/// "rank3_trace.json"); kUnknown: none.
std::int32_t rank_in_name(const std::string& file);

}  // namespace megascope::importer
