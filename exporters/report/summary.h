#pragma once

#include "core/record/profile.h"
#include "core/record/run_time.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// From one rank's sums to a report of that rank; merge() then makes the run's.
namespace megascope::report {

/// What a rank's definitions and profile do not tell.
struct RankFacts {
  std::string version;               ///< "0.1.0"
  double ns_per_profile_unit = 1.0;  ///< of the profile's times: 1 for ns, else ns a tick
  double ns_per_tick = 0.0;          ///< of the process's clock; 0: as its clock points say
  std::uint64_t
      overhead_ticks = 0;  ///< our own outside of the calls; less than the trace says: that counts
  std::uint64_t trace_bytes = 0;    ///< of the native trace on disk
  bool is_solo = false;             ///< the trace may not know yet
  bool covers_all_calls = true;     ///< the profile also has the calls that the trace lost
  CpuTotals cpu;                    ///< of all threads
  std::vector<PendingRow> pending;  ///< since_ns and time_ns in ns
  std::vector<std::string> notes;
};

/// The report of one process. Names longer than 200 bytes are cut.
RunReport summarize(const ProcessDefinitions& definitions, const Profile& profile,
                    const RankFacts& facts);

/// Adds every call of one process of a run to `profile` (after defining what it refers to), and
/// those still pending at the end to `pending`. progress: called now and then with the number of
/// calls since the last time; may be empty.
void fold(const RecordSource& source, std::int32_t world_rank, Profile& profile,
          std::vector<PendingRow>& pending,
          const std::function<void(std::uint64_t calls)>& progress = {});

/// The report of all ranks that `source` has. trace_bytes: by position in world_ranks(); may be
/// empty.
RunReport summarize_run(const RecordSource& source, const std::string& version,
                        const std::vector<std::uint64_t>& trace_bytes = {},
                        const std::function<void(std::uint64_t calls)>& progress = {});

/// How the run's clocks were brought to one time.
ClockFacts clock_facts(const RunTime& time);

/// ns a tick of the process's clock: from its first and last clock point, 1 for a clock in ns or
/// where they do not tell.
double ns_per_tick(const ProcessInfo& info);

}  // namespace megascope::report
