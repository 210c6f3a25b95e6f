#pragma once

#include "analysis/segments/segment.h"

#include <cstdint>
#include <span>
#include <vector>

/// Tests whether the members of a group end an operation together although they begin it at
/// different times. Pure functions.
namespace megascope::segments {

/// One execution of an operation by one process.
struct Execution {
  std::int64_t step = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t segment = 0;

  double duration_ns() const { return static_cast<double>(end_ns) - static_cast<double>(begin_ns); }
};
using Executions = std::span<const Execution>;

/// Returns the executions that all members have: instance i of member m is result[m][i]. Steps that
/// a member lacks, or that members execute a different number of times, are omitted. members: each
/// in order of step.
std::vector<std::vector<Execution>> common_executions(std::span<const Executions> members);

/// Distances between the members of a group, in ns. The deviation of a member is its time minus the
/// mean time of all members in the same instance. The constant offset of a member is the median
/// deviation of its ends, over a *block* of instances. Unless stated, it is subtracted, because it
/// may be an error of the member's clock. A block is one step, or the whole run if steps have few
/// executions.
struct Apart {
  double begin_ns = 0.0;          ///< median of the absolute deviations of begins
  double varying_begin_ns = 0.0;  ///< as begin_ns, but the median deviation of the member's begins
                                  ///< is subtracted instead of that of its ends
  double end_ns = 0.0;            ///< median of the absolute deviations of ends
  double constant_ns = 0.0;  ///< 0.9 quantile of the absolute constant offsets, over members and
                             ///< blocks
  /// 0.9 quantile of the absolute deviations of the members' ends from the mean end of their
  /// instance. The constant offsets of the members are not subtracted. If all members end together,
  /// this is the error of the clocks.
  double raw_end_ns = 0.0;
  std::size_t instances = 0;
  std::vector<double> worst_end_ns;  ///< by instance: the largest absolute deviation of an end
  std::vector<double>
      raw_worst_end_ns;  ///< as worst_end_ns, but the constant offsets are not subtracted
  std::vector<double> worst_varying_begin_ns;  ///< by instance: the largest deviation of a
                                               ///< member's begin, as varying_begin_ns
};
/// Returns the distances of members. members: result of common_executions(). All 0 for fewer than
/// two members or no instance.
Apart distances(const std::vector<std::vector<Execution>>& members);

/// Returns whether the members ended an instance together although the distances between their
/// begins differed from the median ones. "Together" means that the ends are at most 5 % as far
/// apart as the begins. The constant offsets are not subtracted.
bool is_at_once(const Apart& apart, std::size_t instance);

/// Returns the scatter of independent work, in ns: the median absolute deviation of the difference
/// of durations of two processes that do not depend on each other. pairs: each entry contains the
/// executions of two processes.
double independent_ns(std::span<const std::vector<Executions>> pairs);
/// Returns the scatter of work, in ns, if there are no independent pairs: the median absolute
/// deviation of the duration of an execution from the median duration of its process.
double own_variation_ns(std::span<const Executions> members);

}  // namespace megascope::segments
