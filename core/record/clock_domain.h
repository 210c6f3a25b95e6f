#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// A clock that several processes share, as far as it must be known to place it in the run.
struct ClockDomain {
  std::uint64_t id = 0;  ///< hash of ProcessInfo::clock_domain
  std::int32_t lowest_rank = 0;
  ClockKind kind = ClockKind::kTsc;
  std::uint64_t start_ticks = 0;  ///< of the earliest process
  std::uint64_t end_ticks = 0;    ///< of the latest, as far as it is known
  ClockPoint first;               ///< of the process that lived longest
  ClockPoint last;
  std::vector<ClockSample> samples;  ///< of all processes, in no order
};

/// ClockSample::peer_domain, ClockDomain::id. Never 0.
std::uint64_t clock_domain_id(const std::string& name);

ClockDomain clock_domain_of(const ProcessInfo& info);
/// Of any number of processes: one entry a domain, ascending id.
std::vector<ClockDomain> one_a_domain(std::vector<ClockDomain> processes);
/// Adds the domains of other processes. all, more: one entry a domain, ascending id.
void merge_clock_domains(std::vector<ClockDomain>& all, std::vector<ClockDomain> more);
/// Leaves at most `most` samples in all domains together, at least two of each that has them: the
/// quickest of equal parts of the time, the first and the last.
void thin_out(std::vector<ClockDomain>& all, std::size_t most);
void serialize(const std::vector<ClockDomain>& domains, WireWriter& to);
/// Faults are left in the reader.
std::vector<ClockDomain> parse_clock_domains(WireReader& from);

}  // namespace megascope
