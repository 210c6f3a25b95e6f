#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::importer {

/// Reads what PyTorch's profiler (Kineto) wrote, as Holistic Trace Analysis takes it: a directory
/// of `*.json` and `*.json.gz`, or files, one or several a rank. The rank is
/// "distributedInfo.rank", else the number behind "rank" in the file's name. `ProfilerStep#N` are
/// the steps. Untrusted: a file that cannot be read is left out, and a note tells so; an error if
/// none can. Memory: 64 bytes an operation, and 200 a collective.
Status read_pytorch(const std::vector<std::string>& sources, Timeline& timeline);

/// The rank in a name: "rank-3.1234.pt.trace.json", "trace_rank_3.json.gz", "rank3_trace.json";
/// kUnknown where there is none.
std::int32_t rank_in_name(const std::string& file);

}  // namespace megascope::importer
