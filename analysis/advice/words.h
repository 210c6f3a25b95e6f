#pragma once

#include "analysis/advice/facts.h"

#include <cstdint>
#include <string>
#include <vector>

/// Phrases that several rules use in their sentences. Pure functions.
namespace megascope::advice {

/// Returns a fraction (0 to 1) in per cent with two to three digits: "12 %", "0.62 %".
std::string percent(double fraction);
/// Returns where calls were made: "in MPI_Send at solve (heat.c:42)" if the call site is known,
/// otherwise "in MPI_Send on `MPI_COMM_WORLD`". Indices are those of Facts; parts with kNoIndex are
/// omitted.
std::string call_site_text(const Facts& facts, std::uint32_t function, std::uint32_t comm,
                           std::uint32_t site);
/// Returns "rank 3", "ranks 0-2, 7" or "all 64 ranks"; "12 ranks" if there are more than four
/// ranges. ranks: world ranks, ascending.
std::string ranks_text(const Facts& facts, const std::vector<std::int32_t>& ranks);
/// Returns a time in ns as text: "3.1 s".
std::string duration(double time_ns);
/// Returns a time in ns as a fraction of Facts::wall_ns, the time of all ranks; 0 if that is 0.
double share_of(const Facts& facts, double time_ns);

}  // namespace megascope::advice
