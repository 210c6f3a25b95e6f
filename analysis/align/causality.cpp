#include "analysis/align/causality.h"

#include <algorithm>

#include "analysis/align/logical_clock.h"
#include "analysis/align/order_constraints.h"

namespace megascope::analysis {
namespace {

/// Moves add up along chains: so many times the worst violation is looked at, at first.
constexpr std::uint64_t kFirstSlack = 4;

class NoSink final : public MatchSink {
 public:
  void begin(std::size_t) override {}
  void add_stop(Track, const Stop&) override {}
  void add_message(std::size_t, const MessageEnd&, const MessageEnd&) override {}
  void add_collective(std::size_t, const Collective&) override {}
  void end_window() override {}
};

}  // namespace

Causality restore_causality(const RecordSource& source, const MatchTables& tables, const Matching& matching, unsigned jobs) {
  Causality result{.violations_before = matching.violation_count, .worst_before_ns = matching.worst_violation_ns,
                   .moved_most_ns = 0, .corrections = {}};
  result.corrections.resize(source.world_ranks().size());
  if (matching.violation_count == 0) return result;
  constexpr std::uint64_t kMostNs = std::uint64_t{1} << 58;  // damaged times lie anywhere
  for (std::uint64_t slack_ns = kFirstSlack * std::clamp<std::uint64_t>(matching.worst_violation_ns, 1, kMostNs);; slack_ns *= kFirstSlack) {
    ConstraintSink sink(tables, source.world_ranks().size(), slack_ns);
    (void)match_run(source, tables, sink, jobs);
    result.corrections = logical_clock(sink.take());
    result.moved_most_ns = 0;
    for (const TimeCorrection& correction : result.corrections) {
      result.moved_most_ns = std::max(result.moved_most_ns, correction.most_ns());
    }
    if (result.moved_most_ns <= slack_ns || slack_ns > ~std::uint64_t{0} / (2 * kFirstSlack)) return result;
  }
}

Causality restore_causality(const RecordSource& source, unsigned jobs) {
  const MatchTables tables(source);
  NoSink sink;
  return restore_causality(source, tables, match_run(source, tables, sink, jobs), jobs);
}

}  // namespace megascope::analysis
