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
  std::uint64_t start_ticks = 0;     ///< start of the process that started first
  std::uint64_t end_ticks = 0;       ///< end of the process that is known to have ended last
  ClockPoint first;                  ///< first clock point of the process that ran longest
  ClockPoint last;                   ///< last clock point of that process
  std::vector<ClockSample> samples;  ///< samples of all processes, in no particular order
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
/// Reduces the samples of all domains together to about `most`. Each domain that has samples gets
/// an equal part, of at least two. A domain with more samples keeps the first, the last, and the
/// sample with the shortest message delay in each of equal time intervals between them.
void thin_out(std::vector<ClockDomain>& all, std::size_t most);
/// Writes the domains in wire form.
void serialize(const std::vector<ClockDomain>& domains, WireWriter& to);
/// Reads the domains. from.is_ok() is false after an error.
std::vector<ClockDomain> parse_clock_domains(WireReader& from);

}  // namespace megascope
