#pragma once

#include "core/clocks/clock_domain.h"
#include "core/clocks/time_map.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope {

/// Mapping of a clock domain to the time of the run.
struct DomainTime {
  TimeMap map;
  bool is_measured = false;  ///< measured against rank 0's clock; otherwise by CLOCK_REALTIME, as
                             ///< accurate as the nodes' clocks are set
  double error_ns = 0.0;  ///< if measured: bound of the error of any moment, from the delays of the
                          ///< messages that measured it and the uncertainty of the clock's rate
                          ///< before the first and after the last of them
};

/// Time of a run: that of the clock domain with the lowest rank, in ns since the first process of
/// the run started. The other domains are mapped along a chain of measurements to that domain.
struct RunTime {
  std::int64_t start_realtime_ns = 0;
  std::map<std::uint64_t, DomainTime> domains;  ///< by ClockDomain::id

  const DomainTime& of(const ProcessInfo& info) const {
    return domains.at(clock_domain_id(info.clock_domain));
  }
};
/// Computes the mappings. domains: at least one, one entry for each domain; values may come from
/// damaged files. O(domains + samples).
RunTime run_time_of(const std::vector<ClockDomain>& domains);

}  // namespace megascope
