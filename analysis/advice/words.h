#pragma once

#include "analysis/advice/facts.h"

#include <cstdint>
#include <string>
#include <vector>

/// Parts of the sentences.
namespace megascope::advice {

/// "12 %", "0.62 %": of a fraction.
std::string percent(double fraction);
/// "in MPI_Send at solve (heat.c:42)", else "in MPI_Send on `MPI_COMM_WORLD`".
std::string call_site_text(const Facts& facts, std::uint32_t function, std::uint32_t comm,
                           std::uint32_t site);
/// "rank 3", "ranks 0-2, 7"; "all 64 ranks"; of long lists only how many. ranks: ascending.
std::string ranks_text(const Facts& facts, const std::vector<std::int32_t>& ranks);
/// "3.1 s" of nanoseconds.
std::string duration(double time_ns);
/// The whole run's time, as a fraction.
double share_of(const Facts& facts, double time_ns);

}  // namespace megascope::advice
