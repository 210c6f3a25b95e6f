#include "analysis/synth/truth.h"

#include "analysis/common/cause.h"
#include "analysis/synth/work_model.h"

#include <algorithm>
#include <set>

namespace megascope::synth {
namespace {

bool takes_part(const Fault& fault, const Layout& layout, std::int32_t rank) {
  switch (fault.kind) {
    case FaultKind::kSlowCompute:
    case FaultKind::kHostStall:
      return rank == fault.where;
    case FaultKind::kSlowLink:
      return rank == fault.where || rank == fault.to;
    case FaultKind::kSlowHost:
      return layout.host_of(rank) == fault.where;
    case FaultKind::kStageImbalance:
      return layout.coordinates(rank).pp == fault.where;
    case FaultKind::kInputImbalance:
      return layout.coordinates(rank).dp == fault.where;
  }
  return false;
}

std::int32_t last_active(const Fault& fault, std::int32_t steps) {
  for (std::int32_t step = std::min(fault.last, steps - 1); step >= fault.onset; --step) {
    if (fault.is_active(step)) return step;
  }
  return fault.onset;
}

/// Average additional work as a multiple of the severity, over the steps in which the fault is
/// active; 1 except for kInputImbalance.
double mean_share(const RunSpec& spec, const Fault& fault) {
  if (fault.kind != FaultKind::kInputImbalance) return 1.0;
  double sum = 0.0;
  int count = 0;
  for (std::int32_t step = fault.onset; step < spec.steps; ++step) {
    if (!fault.is_active(step)) continue;
    sum += input_share(spec, fault, step);
    ++count;
  }
  return sum / std::max(count, 1);
}

}  // namespace

std::string name_of(FaultKind kind) {
  return analysis::name_of(static_cast<analysis::Cause>(kind));
}

std::vector<TrueRootCause> truth_of(const RunSpec& spec) {
  const Layout layout(spec);
  std::vector<TrueRootCause> all;
  for (const Fault& fault : spec.faults) {
    if (fault.onset >= spec.steps) continue;
    TrueRootCause root_cause;
    root_cause.kind = fault.kind;
    std::set<std::int32_t> hosts;
    for (std::int32_t rank = 0; rank < spec.rank_count(); ++rank) {
      if (!takes_part(fault, layout, rank)) continue;
      root_cause.ranks.push_back(rank);
      hosts.insert(layout.host_of(rank));
    }
    for (const std::int32_t host : hosts) root_cause.hosts.push_back(Layout::host_name(host));
    if (fault.kind == FaultKind::kStageImbalance) root_cause.groups["pp"] = fault.where;
    if (fault.kind == FaultKind::kInputImbalance) root_cause.groups["dp"] = fault.where;
    root_cause.factor = 1.0 + fault.severity * mean_share(spec, fault);
    root_cause.onset_step = fault.onset;
    root_cause.last_step = last_active(fault, spec.steps);
    all.push_back(std::move(root_cause));
  }
  return all;
}

}  // namespace megascope::synth
