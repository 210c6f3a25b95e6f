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
  bool is_measured = false;  ///< true: the map results from messages between clock domains. false:
                             ///< it results from CLOCK_REALTIME and is as accurate as the nodes'
                             ///< clocks are set
  double error_ns = 0.0;  ///< bound of the error of any mapped time, if is_measured. Includes the
                          ///< delays of the messages, and the uncertainty of the clock's rate
                          ///< before the first and after the last message
};

/// Maps the clock domains of a run to one time, in ns since the first process of the run started.
/// The clock of the domain with the lowest rank defines this time. The other domains are mapped to
/// that domain, directly or through domains between which messages were measured.
struct RunTime {
  std::int64_t start_realtime_ns = 0;
  std::map<std::uint64_t, DomainTime> domains;  ///< by ClockDomain::id

  const DomainTime& of(const ProcessInfo& info) const {
    return domains.at(clock_domain_id(info.clock.domain));
  }
};
/// Computes the mappings. domains: at least one, one entry for each domain; values may come from
/// damaged files. O(domains + samples).
RunTime run_time_of(const std::vector<ClockDomain>& domains);

}  // namespace megascope
