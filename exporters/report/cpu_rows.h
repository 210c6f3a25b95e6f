#pragma once

#include "core/record/shared_cores.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"

#include <cstdint>
#include <string>
#include <vector>

/// What a report says of cores and CPU time.
namespace megascope::report {

/// Reads the points of all threads of a rank.
CpuTotals cpu_totals_of(const RecordSource& source, std::int32_t world_rank);

std::vector<SharedCores> shared_cores_of(const RunReport& report);
/// A sentence without a final point for each set of ranks that share cores, at most a few; none
/// where cores suffice.
std::vector<std::string> shared_cores_texts(const RunReport& report);

/// Have ranks waited for a core 1 % of their time or more, or do they share cores?
bool shows_cpu(const RunReport& report);
/// "12.5 s"; "?": it is not known.
std::string cpu_cell(const RankRow& rank);
std::string core_wait_cell(const RankRow& rank);

}  // namespace megascope::report
