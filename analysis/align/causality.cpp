#include "analysis/align/causality.h"

#include "analysis/align/logical_clock.h"
#include "analysis/align/order_constraints.h"
#include "analysis/match/no_sink.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// Moves add up along chains of messages. Constraints within this multiple of the worst violation
/// are collected first; if a move exceeds it, the multiple grows by the same factor.
constexpr std::uint64_t kFirstSlack = 4;

/// Corrects the violations that remain after clocks were corrected.
void move_moments(const RecordSource& source, const MatchTables& tables, std::uint64_t worst_ns,
                  unsigned jobs, Causality& result) {
  constexpr std::uint64_t kMaxNs = std::uint64_t{1} << 58;  // damaged times lie anywhere
  for (std::uint64_t slack_ns = kFirstSlack * std::clamp<std::uint64_t>(worst_ns, 1, kMaxNs);;
       slack_ns *= kFirstSlack) {
    ConstraintSink sink(tables, source.world_ranks().size(), slack_ns);
    (void)match_run(source, tables, sink, jobs);
    result.corrections = logical_clock(sink.take());
    result.max_moved_ns = 0;
    for (const TimeCorrection& correction : result.corrections) {
      result.max_moved_ns = std::max(result.max_moved_ns, correction.max_ns());
    }
    if (result.max_moved_ns <= slack_ns || slack_ns > ~std::uint64_t{0} / (2 * kFirstSlack)) return;
  }
}

}  // namespace

Causality restore_causality(const RecordSource& source, const MatchTables& tables,
                            const Matching& matching, const std::vector<double>& measured_ns,
                            unsigned jobs) {
  Causality result{.violations_before = matching.violation_count,
                   .worst_before_ns = matching.worst_violation_ns,
                   .max_moved_ns = 0,
                   .anchors = {},
                   .corrections = {}};
  result.corrections.resize(source.world_ranks().size());
  if (matching.violation_count == 0) return result;
  result.anchors = find_anchors(source, tables, measured_ns, jobs);
  if (!result.anchors.is_any()) {
    move_moments(source, tables, matching.worst_violation_ns, jobs, result);
    return result;
  }
  const CorrectedSource anchored(source, result.anchors.corrections);
  NoSink sink;
  const Matching left = match_run(anchored, tables, sink, jobs);
  if (left.violation_count != 0)
    move_moments(anchored, tables, left.worst_violation_ns, jobs, result);
  return result;
}

Causality restore_causality(const RecordSource& source, const std::vector<double>& measured_ns,
                            unsigned jobs) {
  const MatchTables tables(source);
  NoSink sink;
  return restore_causality(source, tables, match_run(source, tables, sink, jobs), measured_ns,
                           jobs);
}

}  // namespace megascope::analysis
