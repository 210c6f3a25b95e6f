#include "bench/detection/scenario.h"

#include "analysis/synth/program.h"
#include "analysis/synth/random.h"
#include "tests/analysis/second_generator.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace megascope::bench {
namespace {

using synth::Fault;
using synth::FaultKind;
using synth::Pattern;
using synth::Random;
using synth::RunSpec;

struct Shape {
  Pattern pattern;
  int tp, pp, dp;
  int x, y;
};
constexpr Shape kTwo[] = {{Pattern::kHalo, 1, 1, 1, 2, 1},
                          {Pattern::k1F1B, 2, 1, 1, 0, 0},
                          {Pattern::k1F1B, 1, 1, 2, 0, 0},
                          {Pattern::k1F1B, 1, 2, 1, 0, 0}};
constexpr Shape kSmall[] = {{Pattern::k1F1B, 2, 2, 2, 0, 0}, {Pattern::k1F1B, 1, 4, 2, 0, 0},
                            {Pattern::k1F1B, 4, 1, 2, 0, 0}, {Pattern::k1F1B, 1, 1, 8, 0, 0},
                            {Pattern::k1F1B, 1, 8, 1, 0, 0}, {Pattern::k1F1B, 2, 4, 1, 0, 0},
                            {Pattern::kHalo, 1, 1, 1, 4, 2}, {Pattern::kInterleaved, 2, 2, 2, 0, 0},
                            {Pattern::kHalo, 1, 1, 1, 2, 1}};
constexpr Shape kMedium[] = {{Pattern::k1F1B, 2, 4, 4, 0, 0},
                             {Pattern::k1F1B, 4, 4, 2, 0, 0},
                             {Pattern::k1F1B, 1, 4, 8, 0, 0},
                             {Pattern::kHalo, 1, 1, 1, 8, 4},
                             {Pattern::kInterleaved, 2, 4, 4, 0, 0}};
constexpr Shape kLarge[] = {{Pattern::k1F1B, 4, 4, 4, 0, 0},
                            {Pattern::k1F1B, 8, 2, 4, 0, 0},
                            {Pattern::kHalo, 1, 1, 1, 8, 8},
                            {Pattern::kInterleaved, 4, 4, 4, 0, 0}};

constexpr Shape kHuge[] = {{Pattern::k1F1B, 8, 4, 32, 0, 0}, {Pattern::kHalo, 1, 1, 1, 32, 32}};

std::span<const Shape> shapes_of(int size) {
  if (size <= 2) return kTwo;
  if (size <= 8) return kSmall;
  return size <= 32   ? std::span<const Shape>(kMedium)
         : size <= 64 ? std::span<const Shape>(kLarge)
                      : kHuge;
}

bool can_have(const Shape& shape, const std::string& cause) {
  const bool is_halo = shape.pattern == Pattern::kHalo;
  const int ranks = is_halo ? shape.x * shape.y : shape.tp * shape.pp * shape.dp;
  if (cause == "slow_link") return is_halo ? ranks > 2 : shape.pp > 1;
  if (cause == "stage_imbalance") return !is_halo && shape.pp > 1;
  if (cause == "input_imbalance") return !is_halo && shape.dp > 1;
  if (cause == "host_stall" && !is_halo && shape.tp * shape.pp == 1)
    return false;  // one gap a step: nothing tells a pause from work
  if (cause == "slow_host" || cause == "several") return ranks > 4;
  return true;
}

Shape draw_shape(const Cell& cell, Random& random) {
  const std::span<const Shape> shapes = shapes_of(cell.size);
  for (;;) {
    const Shape& shape = shapes[static_cast<std::size_t>(
        random.below(static_cast<std::int32_t>(shapes.size())))];
    if (can_have(shape, cell.cause)) return shape;
  }
}

FaultKind kind_of(const std::string& cause) {
  for (const FaultKind kind : synth::kFaultKinds) {
    if (synth::name_of(kind) == cause) return kind;
  }
  return FaultKind::kSlowCompute;
}

/// Where a fault of the kind can be.
void place(Fault& fault, const RunSpec& spec, Random& random) {
  const synth::Layout layout(spec);
  fault.where = random.below(spec.rank_count());
  if (fault.kind == FaultKind::kSlowHost) fault.where = layout.host_of(fault.where);
  if (fault.kind == FaultKind::kStageImbalance) fault.where = random.below(spec.pp);
  if (fault.kind == FaultKind::kInputImbalance) fault.where = random.below(spec.dp);
  if (fault.kind != FaultKind::kSlowLink) return;
  if (spec.pattern == Pattern::kHalo) {
    const std::int32_t x = fault.where % spec.grid_x;
    fault.to = fault.where - x + (x + 1) % spec.grid_x;
  } else {
    synth::Coordinates at = layout.coordinates(fault.where);
    at.pp = random.below(spec.pp - 1);
    fault.where = layout.rank_of(at);
    ++at.pp;
    fault.to = layout.rank_of(at);
  }
}

/// Could the trace not tell a fault from the first step on from an imbalance of stages?
bool is_ambiguous(const Fault& fault, const RunSpec& spec) {
  if (spec.pattern == Pattern::kHalo) return false;
  const bool is_one_rank = spec.tp * spec.dp == 1;
  return fault.kind == FaultKind::kSlowHost ||
         (fault.kind == FaultKind::kSlowCompute && is_one_rank);
}

Fault draw_fault(FaultKind kind, double severity, const RunSpec& spec, Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.severity = severity;
  place(fault, spec, random);
  if (kind == FaultKind::kStageImbalance) return fault;
  fault.onset = random.below(2) == 0 ? 0 : random.below(spec.steps / 3);
  if (is_ambiguous(fault, spec)) fault.onset = spec.steps / 4 + random.below(spec.steps / 8 + 1);
  const std::int32_t pattern = random.below(4);
  if (pattern == 0 && kind != FaultKind::kInputImbalance) fault.period = 3;
  if (pattern == 1)
    fault.last = std::min(spec.steps - 1, fault.onset + std::max(spec.steps / 2, 10));
  return fault;
}

void draw_several(RunSpec& spec, double severity, Random& random) {
  constexpr FaultKind kKinds[] = {FaultKind::kSlowCompute, FaultKind::kSlowCompute,
                                  FaultKind::kHostStall, FaultKind::kSlowLink};
  const std::int32_t count = 2 + random.below(3);
  std::set<std::int32_t> used;
  while (static_cast<std::int32_t>(spec.faults.size()) <
         std::min(count, spec.rank_count() / 4 + 1)) {
    FaultKind kind = kKinds[random.below(4)];
    if (kind == FaultKind::kSlowLink &&
        (spec.pattern == Pattern::kHalo ? spec.rank_count() <= 2 : spec.pp < 2))
      kind = FaultKind::kSlowCompute;
    const Fault fault = draw_fault(kind, severity, spec, random);
    const bool is_free = !used.contains(fault.where) &&
                         (kind != FaultKind::kSlowLink || !used.contains(fault.to));
    if (!is_free) continue;
    used.insert(fault.where);
    if (kind == FaultKind::kSlowLink) used.insert(fault.to);
    spec.faults.push_back(fault);
  }
}

}  // namespace

std::string Cell::name() const {
  char text[128];
  std::snprintf(text, sizeof text, "g%d/%s/x%.3g/noise%.3g/steps%d/ranks%d", generator,
                cause.c_str(), severity, noise, steps, size);
  return text;
}

RunSpec draw_spec(const Cell& cell, std::uint64_t seed) {
  Random random(seed, 77, static_cast<std::uint64_t>(cell.size));
  const Shape shape = draw_shape(cell, random);
  RunSpec spec;
  spec.pattern = shape.pattern;
  spec.tp = shape.tp;
  spec.pp = shape.pp;
  spec.dp = shape.dp;
  spec.grid_x = std::max(shape.x, 1);
  spec.grid_y = std::max(shape.y, 1);
  spec.layers = 2;
  spec.steps = cell.steps;
  spec.seed = seed;
  spec.ranks_per_host = spec.rank_count() <= 8 ? 4 : 8;
  spec.noise.sigma = spec.noise.link_sigma = cell.noise;
  if (random.below(3) == 0) spec.noise.pareto_share = 0.02;
  if (random.below(3) == 0) spec.noise.pause_share = 0.02;
  if (cell.cause == "several")
    draw_several(spec, cell.severity, random);
  else if (cell.cause != "healthy")
    spec.faults.push_back(draw_fault(kind_of(cell.cause), cell.severity, spec, random));
  return spec;
}

namespace {

/// Standard deviation of the log of a rank's work in a step: of independent units of work, each
/// with the noise `sigma`.
double step_noise_of(const RunSpec& spec, std::int32_t rank) {
  const synth::Layout layout(spec);
  double sum = 0.0;
  double squares = 0.0;
  for (const synth::Op& op : spec.pattern == Pattern::kHalo
                                 ? synth::halo_step(spec, rank)
                                 : synth::grid_step(spec, layout, rank)) {
    if (op.kind != synth::OpKind::kWork) continue;
    const double work_unit = static_cast<double>(op.amount) / op.work_units;
    sum += static_cast<double>(op.amount);
    squares += op.work_units * work_unit * work_unit;
  }
  return spec.noise.sigma * std::sqrt(squares) / sum;
}

std::vector<OracleHint> hints_of(const RunSpec& spec,
                                 const std::vector<synth::TrueRootCause>& truth) {
  std::vector<OracleHint> hints;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    OracleHint hint{truth[i].kind == FaultKind::kSlowLink,
                    truth[i].ranks,
                    {},
                    std::log(truth[i].factor),
                    0.0,
                    spec.noise.link_sigma};
    for (std::int32_t step = 0; step < spec.steps; ++step)
      hint.is_active.push_back(spec.faults[i].is_active(step));
    hint.step_noise = step_noise_of(spec, truth[i].ranks[0]);
    hints.push_back(std::move(hint));
  }
  return hints;
}

Scenario draw_second(const Cell& cell, std::uint64_t seed) {
  Random random(seed, 78, static_cast<std::uint64_t>(cell.size));
  second::Spec spec;
  spec.kind = kind_of(cell.cause);
  const bool needs_pipeline = cell.cause == "stage_imbalance" || cell.cause == "input_imbalance";
  spec.is_chain = !needs_pipeline && random.below(3) == 0;
  spec.pp = cell.size <= 8 ? (random.below(2) == 0 ? 2 : 4) : 4;
  spec.dp = cell.size / spec.pp;
  spec.ranks = cell.size;
  spec.steps = cell.steps;
  spec.noise = cell.noise;
  spec.severity = cell.cause == "healthy" ? 0.0 : cell.severity;
  spec.seed = seed;
  // A host is no whole replica: then slow ranks could be either.
  spec.ranks_per_host = spec.is_chain || spec.pp != 4 ? 4 : 2;
  second::Run run = second::make_run(spec);
  Scenario scenario;
  scenario.run = std::move(run.source);
  scenario.truth = std::move(run.truth);
  for (const synth::TrueRootCause& root_cause : scenario.truth) {
    // Of a stage: six of weight 1 and six of weight 2.
    const double work_units = spec.is_chain ? 7.0 : 6.0 * 9.0 / 5.0;
    OracleHint hint{root_cause.kind == FaultKind::kSlowLink,
                    root_cause.ranks,
                    run.is_active,
                    std::log(root_cause.factor),
                    0.0,
                    spec.noise};
    hint.step_noise = spec.noise / std::sqrt(4.0 * work_units);
    scenario.hints.push_back(std::move(hint));
  }
  scenario.text = spec.is_chain
                      ? "chain of " + std::to_string(spec.ranks)
                      : "gpipe pp" + std::to_string(spec.pp) + " dp" + std::to_string(spec.dp);
  return scenario;
}

}  // namespace

Scenario draw(const Cell& cell, std::uint64_t seed) {
  if (cell.generator == 2) return draw_second(cell, seed);
  const RunSpec spec = draw_spec(cell, seed);
  Scenario scenario;
  scenario.run = std::make_unique<synth::SynthRun>(spec);
  scenario.truth = synth::truth_of(spec);
  scenario.hints = hints_of(spec, scenario.truth);
  char text[160];
  std::snprintf(text, sizeof text, "%s tp%d pp%d dp%d grid %dx%d pareto %.2g pauses %.2g",
                spec.pattern == Pattern::kHalo   ? "halo"
                : spec.pattern == Pattern::k1F1B ? "1f1b"
                                                 : "interleaved",
                spec.tp, spec.pp, spec.dp, spec.grid_x, spec.grid_y, spec.noise.pareto_share,
                spec.noise.pause_share);
  scenario.text = text;
  return scenario;
}

}  // namespace megascope::bench
