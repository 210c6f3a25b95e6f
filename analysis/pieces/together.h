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

/// Returns the executions that all members have: instance i of member m is result[m][i]. Steps that
/// a member lacks, or that members execute a different number of times, are omitted. members: each
/// in order of step.
std::vector<std::vector<Execution>> common_executions(std::span<const Executions> members);

/// Distances between the members of a group, in ns: medians of absolute deviations from the mean of
/// the members. A constant offset of a member is subtracted, as clocks may be off by it: the offset
/// in a step, or, if steps have few executions, in the run.
struct Apart {
  double begin_ns = 0.0;
  double varying_begin_ns = 0.0;  ///< begins, without the constant offset of each member's begins
  double end_ns = 0.0;
  double
      constant_ns = 0.0;  ///< ends: absolute constant offset, 0.9 quantile over members and blocks
  /// ends: absolute deviation including the constant offset, 0.9 quantile. If all members end
  /// together, this is the clock error.
  double raw_end_ns = 0.0;
  std::size_t instances = 0;
  std::vector<double> worst_end_ns;      ///< by instance: the largest deviation of a member's end
  std::vector<double> raw_worst_end_ns;  ///< the same including the constant offset
  std::vector<double> worst_varying_begin_ns;  ///< by instance: the largest deviation of a
                                               ///< member's begin, as varying_begin_ns
};
/// Returns the distances of members. members: result of common_executions(). All 0 for fewer than
/// two members or no instance.
Apart distances(const std::vector<std::vector<Execution>>& members);

/// Returns whether the members ended an instance together although their begins differed from the
/// usual. Uses their clocks without correction.
bool is_at_once(const Apart& apart, std::size_t instance);

/// Returns the scatter of independent work, in ns: the median absolute deviation of the difference
/// of durations of two processes that do not depend on each other. pairs: two processes each.
double independent_ns(std::span<const std::vector<Executions>> pairs);
/// The same if there are no such pairs: the median absolute deviation of executions from the median
/// of their own process.
double own_variation_ns(std::span<const Executions> members);

}  // namespace megascope::pieces
