#include "analysis/synth/work_model.h"

#include <algorithm>
#include <cmath>

namespace megascope::synth {
namespace {

// Purpose of a key, so that no two random draws share a key.
constexpr std::uint64_t kWork = 1;
constexpr std::uint64_t kTransfer = 2;
constexpr std::uint64_t kReduction = 3;
constexpr std::uint64_t kPause = 4;
constexpr std::uint64_t kInput = 5;
constexpr std::uint64_t kStall = 6;

constexpr double kLatencyNs = 3'000.0;
constexpr double kBytesPerNs = 10.0;
constexpr double kParetoShape = 2.5;
constexpr double kParetoScale = 0.2;

std::uint64_t key(std::uint64_t what, std::uint64_t high, std::uint64_t low) {
  return what << 56 | high << 28 | low;
}

}  // namespace

double input_share(const RunSpec& spec, const Fault& fault, std::int32_t step) {
  return Random(spec.seed, kInput, static_cast<std::uint64_t>(fault.where),
                static_cast<std::uint64_t>(step))
      .between(0.0, 2.0);
}

bool WorkModel::slows(const Fault& fault, std::int32_t rank) const {
  switch (fault.kind) {
    case FaultKind::kSlowCompute:
      return fault.where == rank;
    case FaultKind::kSlowHost:
      return layout_.host_of(rank) == fault.where;
    case FaultKind::kStageImbalance:
      return layout_.coordinates(rank).pp == fault.where;
    case FaultKind::kInputImbalance:
      return layout_.coordinates(rank).dp == fault.where;
    default:
      return false;
  }
}

WorkModel::Step WorkModel::begin_step(std::int32_t rank, std::int32_t step, double work_ns,
                                      std::int32_t work_count) const {
  Step state;
  const auto rank_key = static_cast<std::uint64_t>(rank);
  const auto step_key = static_cast<std::uint64_t>(step);
  for (const Fault& fault : spec_.faults) {
    if (!fault.is_active(step)) continue;
    if (fault.kind == FaultKind::kHostStall && fault.where == rank) {
      Random random(spec_.seed, kStall, rank_key, step_key);
      state.stall_at = random.below(work_count);
      state.stall_ns = fault.severity * work_ns * random.between(0.8, 1.2);
    } else if (slows(fault, rank)) {
      double share = 1.0;
      if (fault.kind == FaultKind::kInputImbalance) share = input_share(spec_, fault, step);
      state.factor *= 1.0 + fault.severity * share;
    }
  }
  if (spec_.noise.pause_share > 0.0) {
    Random random(spec_.seed, kPause, rank_key, step_key);
    if (random.uniform() < spec_.noise.pause_share) {
      state.garbage_at = random.below(work_count);
      state.garbage_ns = spec_.noise.pause_of_step * work_ns * random.exponential();
    }
  }
  return state;
}

double WorkModel::work_ns(const Step& state, std::int32_t rank, std::int32_t step,
                          std::int32_t index, std::int32_t work_units, double amount_ns) const {
  Random random(spec_.seed,
                key(kWork, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step)),
                static_cast<std::uint64_t>(index));
  const double work_unit_ns = amount_ns / work_units;
  double sum = 0.0;
  for (std::int32_t i = 0; i < work_units; ++i) {
    double factor = std::exp(spec_.noise.sigma * random.normal());
    if (spec_.noise.pareto_share > 0.0 && random.uniform() < spec_.noise.pareto_share) {
      factor *= 1.0 + kParetoScale * (std::pow(random.uniform(), -1.0 / kParetoShape) - 1.0);
    }
    sum += factor;
  }
  double time_ns = sum * work_unit_ns * state.factor;
  if (index == state.garbage_at) time_ns += state.garbage_ns;
  if (index == state.stall_at) time_ns += state.stall_ns;
  return time_ns;
}

double WorkModel::transfer_ns(std::int32_t from, std::int32_t to, std::int32_t step,
                              std::uint64_t number, std::uint64_t bytes) const {
  Random random(spec_.seed,
                key(kTransfer, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)),
                number);
  double factor = std::exp(spec_.noise.link_sigma * random.normal());
  for (const Fault& fault : spec_.faults) {
    if (fault.kind != FaultKind::kSlowLink || !fault.is_active(step)) continue;
    const bool is_it = (fault.where == from && fault.to == to) ||
                       (fault.where == to && fault.to == from);
    if (is_it) factor *= 1.0 + fault.severity;
  }
  return (kLatencyNs + static_cast<double>(bytes) / kBytesPerNs) * factor;
}

double WorkModel::reduction_ns(std::uint64_t comm_name, std::uint64_t number, std::size_t members,
                               std::uint64_t bytes) const {
  Random random(spec_.seed, kReduction, comm_name, number);
  const double rounds = std::ceil(std::log2(static_cast<double>(members)));
  const double share = 2.0 * static_cast<double>(members - 1) / static_cast<double>(members);
  const double plain_ns = 2.0 * rounds * kLatencyNs +
                          share * static_cast<double>(bytes) / (4.0 * kBytesPerNs);
  return plain_ns * std::exp(spec_.noise.link_sigma * random.normal());
}

}  // namespace megascope::synth
