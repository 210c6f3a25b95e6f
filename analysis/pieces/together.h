#pragma once

#include "analysis/pieces/piece.h"

#include <cstdint>
#include <span>
#include <vector>

/// Tests whether the members of a group end an operation together although they begin it at
/// different times. Pure functions.
namespace megascope::pieces {

/// One execution of an operation by one process.
struct Execution {
  std::int64_t step = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t piece = 0;

  double duration_ns() const { return static_cast<double>(end_ns) - static_cast<double>(begin_ns); }
};
using Executions = std::span<const Execution>;

/// The same executions of all members: instance i of member m is executions[m][i]. Steps that not
/// all members have, or have as often, are left out.
std::vector<std::vector<Execution>> common_executions(std::span<const Executions> members);

/// How far apart members are, in ns: medians of absolute deviations from the mean of the members,
/// less what is constant in a step (or, where steps have few executions, in the run): clocks may be
/// off by that much.
struct Apart {
  double begin_ns = 0.0;
  double end_ns = 0.0;
  double constant_ns = 0.0;  ///< of ends: the largest constant, by absolute value, of most blocks
                             ///< (0.9 quantile)
  double raw_end_ns = 0.0;   ///< of ends with the constants, 0.9 quantile: where all end at once,
                             ///< how far the clocks are off
  std::size_t instances = 0;
  std::vector<double> worst_end_ns;        ///< by instance: the largest deviation of a member's end
  std::vector<double> raw_worst_end_ns;    ///< the same with the constants
  std::vector<double> raw_worst_begin_ns;  ///< the same of begins
};
Apart distances(const std::vector<std::vector<Execution>>& members);

/// Returns whether the members ended an instance together although they began it at different
/// times. Uses their clocks without correction.
bool is_at_once(const Apart& apart, std::size_t instance);

/// The median absolute difference of durations of processes that have nothing to do with each
/// other, less its median: what independent work differs by from one execution to the next. pairs:
/// two processes each.
double independent_ns(std::span<const std::vector<Executions>> pairs);
/// The same where there are no such pairs: of each process's executions from its own median.
double own_variation_ns(std::span<const Executions> members);

}  // namespace megascope::pieces
