#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// A clock that several processes share, with the data needed to map it to the time of the run.
struct ClockDomain {
  std::uint64_t id = 0;  ///< hash of ProcessInfo::clock_domain
  std::int32_t lowest_rank = 0;
  ClockKind kind = ClockKind::kTsc;
  std::uint64_t start_ticks = 0;  ///< of the process that started first
  std::uint64_t end_ticks = 0;    ///< of the process that ended last, as far as known
  ClockPoint first;               ///< of the process that lived longest
  ClockPoint last;
  std::vector<ClockSample> samples;  ///< of all processes, in no particular order
};

/// Returns the identifier of a clock domain, as in ClockSample::peer_domain and ClockDomain::id.
/// Never 0.
std::uint64_t clock_domain_id(const std::string& name);

/// Returns the clock domain of one process.
ClockDomain clock_domain_of(const ProcessInfo& info);
/// Merges the clock domains of processes: one entry for each domain, by ascending id.
std::vector<ClockDomain> one_a_domain(std::vector<ClockDomain> processes);
/// Merges the domains of other processes into `all`. all, more: one entry for each domain, by
/// ascending id.
void merge_clock_domains(std::vector<ClockDomain>& all, std::vector<ClockDomain> more);
/// Reduces the samples to at most `most` in all domains together, with at least two for each domain
/// that has two: the first, the last, and the quickest of equal intervals of time between them.
void thin_out(std::vector<ClockDomain>& all, std::size_t most);
/// Writes the domains in wire form.
void serialize(const std::vector<ClockDomain>& domains, WireWriter& to);
/// Reads the domains. Errors are left in the reader.
std::vector<ClockDomain> parse_clock_domains(WireReader& from);

}  // namespace megascope
