#pragma once

#include "core/clocks/run_time.h"
#include "core/profile/profile.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Computes the report of one rank from its profile; merge() combines the reports of a run.
namespace megascope::report {

/// Facts about a rank that its definitions and profile do not have.
struct RankFacts {
  std::string version;               ///< "0.1.0"
  double ns_per_profile_unit = 1.0;  ///< unit of the profile's times: 1 for ns, else ns a tick
  double ns_per_tick = 0.0;  ///< ns a tick of the process's clock; 0: compute it from the clock
                             ///< points in the definitions
  /// Measurement overhead outside of calls. If the trace contains a larger value, that value is
  /// used.
  std::uint64_t overhead_ticks = 0;
  std::uint64_t trace_bytes = 0;           ///< size of the native trace
  std::uint64_t unpacked_trace_bytes = 0;  ///< size that it would have if it were not packed
  /// true: the rank is standalone. Given here, because the trace may not contain this yet.
  bool is_standalone = false;
  bool covers_all_calls = true;     ///< the profile includes calls dropped from the trace
  CpuTotals cpu;                    ///< CPU times, summed over all threads
  std::vector<PendingRow> pending;  ///< since_ns and time_ns in ns
  std::vector<std::string> notes;
};

/// Returns the report of one process. Names longer than 200 bytes are truncated.
RunReport summarize(const ProcessDefinitions& definitions, const Profile& profile,
                    const RankFacts& facts);

/// Reads one process. Adds the definitions and every call to `profile`, and the calls that are
/// pending at the end to `pending`. progress: called periodically with the number of calls since
/// the last time; may be empty.
void fold(const RecordSource& source, std::int32_t world_rank, Profile& profile,
          std::vector<PendingRow>& pending,
          const std::function<void(std::uint64_t calls)>& progress = {});

/// Returns the report of all ranks of `source`. trace_bytes: by position in world_ranks(); may be
/// empty.
RunReport summarize_run(const RecordSource& source, const std::string& version,
                        const std::vector<std::uint64_t>& trace_bytes = {},
                        const std::function<void(std::uint64_t calls)>& progress = {});

/// Returns the accuracy of the run's clock synchronization.
ClockFacts clock_facts(const RunTime& time);

/// Returns the length of a tick of the process's clock in ns, from its first and last clock point.
/// Returns 1 for a clock in ns, or if the points are not usable.
double ns_per_tick(const ProcessInfo& info);

}  // namespace megascope::report
