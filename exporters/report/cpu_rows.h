#pragma once

#include "core/record/shared_cores.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"

#include <cstdint>
#include <string>
#include <vector>

/// CPU time and cores in a report.
namespace megascope::report {

/// Returns the CPU times of a rank, from the points of all its threads.
CpuTotals cpu_totals_of(const RecordSource& source, std::int32_t world_rank);

/// Returns the sets of ranks of one node that share cores. The affinity masks of a set contain
/// fewer cores than there are ranks, or the ranks' control group grants less CPU time than that.
/// Ranks with unknown cores are omitted.
std::vector<SharedCores> shared_cores_of(const RunReport& report);
/// Returns one sentence, without a final period, for each set of ranks that share cores. If there
/// are more than four sets, four are described, and one more sentence states the number of the
/// others. Empty if no ranks share cores.
std::vector<std::string> shared_cores_texts(const RunReport& report);

/// Returns whether a rank waited for a core for at least 1 % of its time, or ranks share cores.
bool shows_cpu(const RunReport& report);
/// Return as text the CPU time of a rank (cpu_cell()) and the time that it waited for a core
/// (core_wait_cell()): "12.5 s", or "?" if unknown.
std::string cpu_cell(const RankRow& rank);
std::string core_wait_cell(const RankRow& rank);

}  // namespace megascope::report
