#pragma once

#include "core/record/clock_domain.h"
#include "core/record/time_map.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope {

/// Where a clock domain lies in the run's time.
struct DomainTime {
  TimeMap map;
  bool is_measured = false;  ///< against rank 0's clock; else by CLOCK_REALTIME, that is as well as
                             ///< the nodes' clocks are set
  double error_ns = 0.0;     ///< where measured: no moment is further off, by the delays of the
                          ///< messages that measured it and by what the clock's rate may be wrong
                          ///< before the first and behind the last of them
};

/// The run's time is that of the clock domain with the lowest rank; its ns 0 is where the first
/// process of the run began. The others follow by what was measured: their lines are composed along
/// the chain of questions that leads there.
struct RunTime {
  std::int64_t start_realtime_ns = 0;
  std::map<std::uint64_t, DomainTime> domains;  ///< by ClockDomain::id

  const DomainTime& of(const ProcessInfo& info) const {
    return domains.at(clock_domain_id(info.clock_domain));
  }
};
/// domains: one entry a domain, at least one. Values may come from damaged files. O(domains +
/// samples).
RunTime run_time_of(const std::vector<ClockDomain>& domains);

}  // namespace megascope
