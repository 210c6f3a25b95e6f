#include "analysis/align/anchors.h"

#include "analysis/align/clock_bounds.h"
#include "analysis/match/collective_flow.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <string>
#include <utility>

namespace megascope::analysis {
namespace {

using Domain = std::uint32_t;
using Edge = std::pair<Domain, Domain>;  ///< the lower domain first; bounds are of the amount by
                                         ///< which the second clock must be set later
using Edges = std::map<Edge, ClockBounds>;

/// Clock domain of each process; domains are numbered in the order of their lowest ranks.
std::vector<Domain> domains_of(const RecordSource& source, Domain& count) {
  std::map<std::string, Domain> numbers;
  std::vector<Domain> domains;
  for (const std::int32_t rank : source.world_ranks()) {
    const auto next = static_cast<Domain>(numbers.size());
    domains.push_back(
        numbers.try_emplace(source.process(rank).info.clock.domain, next).first->second);
  }
  count = static_cast<Domain>(numbers.size());
  return domains;
}

/// Collects bounds of clock differences from matched messages and collectives.
class AnchorSink final : public MatchSink {
 public:
  AnchorSink(const MatchTables& tables, const std::vector<Domain>& domains, std::uint64_t length_ns)
      : tables_(tables), domains_(domains), length_ns_(length_ns) {}

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(Track, const WaitPoint&) override {}
  void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) override {
    add_order(tasks_[task], domain_of(send.track), send.start_ns, domain_of(receive.track),
              receive.leave_ns);
  }
  void add_collective(std::size_t task, const Collective& collective) override;
  void end_window() override {}

  Edges take() {
    Edges all;
    for (Edges& task : tasks_) {
      for (auto& [edge, bounds] : task)
        all.try_emplace(edge, length_ns_).first->second.merge(bounds);
      task.clear();
    }
    return all;
  }

 private:
  Domain domain_of(Track track) const { return domains_[tables_.owner(track).process_index]; }
  /// Adds a bound: the event at early_ns on one clock precedes the event at late_ns on the other.
  void add_order(Edges& edges, Domain early, std::uint64_t early_ns, Domain late,
                 std::uint64_t late_ns) const {
    if (early == late) return;
    const double min_ns = static_cast<double>(early_ns) -
                          static_cast<double>(
                              late_ns);  // minimum by which `late` must be set later than `early`
    ClockBounds& bounds = edges.try_emplace(Edge(std::minmax(early, late)), length_ns_)
                              .first->second;
    if (early < late)
      bounds.add_min(late_ns, min_ns);
    else
      bounds.add_max(early_ns, -min_ns);
  }

  const MatchTables& tables_;
  const std::vector<Domain>& domains_;
  std::uint64_t length_ns_;
  std::vector<Edges> tasks_;
};

/// No member left before the last one entered. Compares each domain with the lowest domain among
/// the members.
void AnchorSink::add_collective(std::size_t task, const Collective& collective) {
  const FunctionTable::Function& function = tables_.functions.function(collective.function);
  const bool has_groups = tables_.comms.entry(collective.comm).kind == CommKind::kInter;
  if (!collective.is_whole || has_groups || flow_of(function) != Flow::kAll ||
      !is_binding(function, collective.members.front()))
    return;
  struct Times {
    std::uint64_t last_start_ns = 0;
    std::uint64_t first_leave_ns = ~std::uint64_t{0};
  };
  std::map<Domain, Times> seen;
  for (const CollectiveEnd& end : collective.members) {
    Times& times = seen[domain_of(end.track)];
    times.last_start_ns = std::max(times.last_start_ns, end.start_ns);
    times.first_leave_ns = std::min(times.first_leave_ns, end.leave_ns);
  }
  const auto& [lowest, of_lowest] = *seen.begin();
  for (const auto& [domain, times] : seen) {
    add_order(tasks_[task], lowest, of_lowest.last_start_ns, domain, times.first_leave_ns);
    add_order(tasks_[task], domain, times.last_start_ns, lowest, of_lowest.first_leave_ns);
  }
}

/// Correction of a domain's clock, as a function of its own time.
struct Placed {
  double at_zero_ns = 0.0;
  double rate = 0.0;
  double error_ns = -1.0;  ///< < 0: not placed

  double at(double time_ns) const { return at_zero_ns + rate * time_ns; }
  bool is_placed() const { return error_ns >= 0.0; }
  bool is_moved() const { return at_zero_ns != 0.0 || rate != 0.0; }
};

/// Correction of the second domain of an edge whose first domain is `from`: when the second clock
/// shows t, `from` shows t + line(t).
Placed behind(const Placed& from, const ClockLine& line) {
  const auto at = [&](double time_ns) {
    return from.at(time_ns + line.at(time_ns)) + line.at(time_ns);
  };
  constexpr double kApart = 1e9;
  return {at(0.0), (at(kApart) - at(0.0)) / kApart, 0.0};
}

/// Correction of the first domain of an edge whose second domain is `from`: when `from` shows t,
/// the first clock shows t + line(t).
Placed before(const Placed& from, const ClockLine& line) {
  const auto at = [&](double time_ns) {
    const double other_ns = (time_ns - line.at_zero_ns) /
                            (1.0 + line.rate);  // time on `from` at that moment
    return from.at(other_ns) - line.at(other_ns);
  };
  constexpr double kApart = 1e9;
  return {at(0.0), (at(kApart) - at(0.0)) / kApart, 0.0};
}

/// Corrections of all domains that are connected to a measured one, smallest error first.
/// measured_ns: error bound by domain; < 0: not measured.
std::vector<Placed> place(const Edges& edges, const std::vector<double>& measured_ns) {
  const std::size_t count = measured_ns.size();
  struct Step {
    double error_ns = 0.0;
    Domain from = 0;
    Domain to = 0;
    bool operator>(const Step& other) const { return error_ns > other.error_ns; }
  };
  std::vector<std::vector<Domain>> beside(count);
  std::map<Edge, ClockLine> lines;
  for (const auto& [edge, bounds] : edges) {
    const ClockLine line = bounds.nearest();
    if (!line.is_bounded) continue;
    lines[edge] = line;
    beside[edge.first].push_back(edge.second);
    beside[edge.second].push_back(edge.first);
  }
  std::vector<Placed> placed(count);
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps;
  for (Domain domain = 0; domain < count; ++domain) {
    if (measured_ns[domain] >= 0.0) steps.push({measured_ns[domain], domain, domain});
  }
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    Placed& to = placed[step.to];
    if (to.is_placed()) continue;
    if (step.from != step.to) {
      const ClockLine& line = lines.at(Edge(std::minmax(step.from, step.to)));
      to = step.from < step.to ? behind(placed[step.from], line) : before(placed[step.from], line);
    }
    to.error_ns = step.error_ns;
    for (const Domain next : beside[step.to]) {
      if (!placed[next].is_placed())
        steps.push(
            {step.error_ns + lines.at(Edge(std::minmax(step.to, next))).error_ns, step.to, next});
    }
  }
  return placed;
}

std::uint64_t whole(double time_ns) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, time_ns)));
}

}  // namespace

bool Anchors::is_any() const {
  return std::ranges::any_of(
      corrections, [](const TimeCorrection& correction) { return !correction.is_none(); });
}

Anchors find_anchors(const RecordSource& source, const MatchTables& tables,
                     const std::vector<double>& measured_ns, unsigned jobs) {
  Domain count = 0;
  const std::vector<Domain> domains = domains_of(source, count);
  Anchors anchors;
  anchors.corrections.resize(domains.size());
  anchors.errors_ns.assign(domains.size(), -1.0);
  std::vector<double> of_domain(count, -1.0);
  for (std::size_t i = 0; i < domains.size() && i < measured_ns.size(); ++i)
    of_domain[domains[i]] = measured_ns[i];
  if (std::ranges::none_of(of_domain, [](double error_ns) { return error_ns < 0.0; }) || count < 2)
    return anchors;
  if (std::ranges::all_of(of_domain, [](double error_ns) { return error_ns < 0.0; }))
    of_domain[0] = 0.0;
  AnchorSink sink(tables, domains, source.end_ns());
  (void)match_run(source, tables, sink, jobs);
  std::vector<Placed> placed = place(sink.take(), of_domain);
  const double end_ns = static_cast<double>(source.end_ns()) + 1.0;
  double earliest_ns = 0.0;  // times may only be moved to later ones
  for (const Placed& domain : placed) {
    earliest_ns = std::min({earliest_ns, domain.at(0.0), domain.at(end_ns)});
    anchors.max_moved_ns = std::max(
        {anchors.max_moved_ns, std::fabs(domain.at(0.0)), std::fabs(domain.at(end_ns))});
  }
  const bool is_moved = std::ranges::any_of(placed, &Placed::is_moved);
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const Placed& domain = placed[domains[i]];
    anchors.errors_ns[i] = domain.error_ns;
    if (!is_moved) continue;
    anchors.corrections[i] = TimeCorrection(
        {{0, whole(domain.at(0.0) - earliest_ns)},
         {source.end_ns() + 1, whole(domain.at(end_ns) - earliest_ns)}});
  }
  return anchors;
}

}  // namespace megascope::analysis
