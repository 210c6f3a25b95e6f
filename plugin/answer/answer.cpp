#include "plugin/answer/answer.h"

#include "analysis/common/parallel_groups.h"
#include "analysis/pieces/work_source.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace megascope::answer {
namespace {

constexpr double kNoIdeaNs = 1e15;

/// How far each rank's clock may be off, by what was measured; empty when some clock was not compared with the others.
std::vector<double> clock_errors(const RecordSource& run, const RunTime& time) {
  std::vector<double> errors_ns;
  for (const std::int32_t rank : run.world_ranks()) {
    const DomainTime& domain = time.of(run.process(rank).info);
    if (!domain.is_measured) return {};
    errors_ns.push_back(domain.error_ns);
  }
  std::ranges::sort(errors_ns);
  return errors_ns;
}

}  // namespace

/// Ranks whose traces are of another run than the first one's. Ranks that wrote alone each made up a name.
std::vector<std::int32_t> strangers(const RecordSource& run) {
  const std::string* id = nullptr;
  std::vector<std::int32_t> found;
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessInfo& info = run.process(rank).info;
    if (info.is_solo || info.run_id.empty()) continue;
    if (id == nullptr) id = &info.run_id;
    if (info.run_id != *id) found.push_back(rank);
  }
  return found;
}

Answer::Answer(const RecordSource& run, const RunTime& time, unsigned jobs)
    : run_(run), jobs_(jobs), tables_(run), states_(tables_), matching_(analysis::match_run(run, tables_, states_, jobs)),
      causality_(analysis::restore_causality(run, tables_, matching_, jobs)), corrected_(run, causality_.corrections),
      clock_errors_ns_(clock_errors(run, time)),
      view_{run_, tables_, matching_, waits_, causality_, detection_, clock_errors_ns_} {
  if (causality_.violations_before != 0) matching_ = analysis::match_run(corrected_, tables_, states_, jobs);  // in possible times
  waits_ = analysis::analyze_waits(states_, matching_, tables_, jobs);
  detect::Options options;
  // Where clocks were never compared, nothing can be said of the time between two ranks.
  options.clock_error_ns = clock_errors_ns_.empty() ? kNoIdeaNs : std::max(options.clock_error_ns, 2 * clock_errors_ns_.back());
  detect_culprits(options);
}

/// A rank that is slow by itself is told with its place in the parallel groups.
void Answer::place_culprits() {
  for (detect::Culprit& culprit : detection_.culprits) {
    std::erase(culprit.hosts, "");
    if (culprit.ranks.size() != 1 || !culprit.groups.empty()) continue;
    for (const ParallelIndex& parallel : run_.process(culprit.ranks.front()).info.parallel) {
      if (parallel.size > 1) culprit.groups[parallel.name] = parallel.index;
    }
  }
}

void Answer::detect_culprits(detect::Options options) {
  const analysis::ParallelGroups groups = analysis::parallel_groups(run_);
  if (!groups.indices.empty()) options.groups = &groups.indices;
  view_.has_operations = pieces::is_of_regions(run_);
  if (view_.has_operations) judge_operations(options);
  else judge_calls(options);
  detection_.limitations.insert(detection_.limitations.end(), groups.problems.begin(), groups.problems.end());
  place_culprits();
  pass_over_trifles();
}

/// Every machine disturbs ranks a little now and then.
void Answer::pass_over_trifles() {
  constexpr double kLeastCost = 0.001;
  const std::size_t before = detection_.culprits.size();
  std::erase_if(detection_.culprits, [](const detect::Culprit& culprit) { return culprit.cost_fraction < kLeastCost; });
  const std::size_t trifles = before - detection_.culprits.size();
  if (trifles == 0) return;
  detection_.limitations.push_back((trifles == 1 ? std::string("One disturbance") : std::to_string(trifles) + " disturbances") +
                                   " that cost less than 0.1 % of the run are not told.");
}

void Answer::judge_calls(detect::Options options) {
  told_ = detect::told_steps(corrected_);
  if (told_.is_there()) options.steps = &told_.marks;
  detection_ = detect::detect(corrected_, options);
  detection_.limitations.insert(detection_.limitations.end(), told_.limitations.begin(), told_.limitations.end());
  // Where the program begins to count anew, its numbers tell no step from another.
  if (told_.is_there() && std::ranges::is_sorted(told_.numbers, std::less_equal<>())) number_steps(told_.numbers);
}

detect::StepTimes Answer::step_times(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(corrected_.world_ranks(), world_rank);
  const auto index = static_cast<std::size_t>(found - corrected_.world_ranks().begin());
  if (!told_.is_there()) return detect::find_step_times(corrected_, world_rank);
  return detect::step_times_of(corrected_, world_rank, told_.marks.begin_ns[index], told_.marks.end_ns[index]);
}

void Answer::judge_operations(detect::Options options) {
  const pieces::WorkSource work(corrected_, tables_);
  const detect::StepMarks steps{work.step_ends_ns()};
  options.steps = &steps;
  detection_ = detect::detect(work, options);
  detection_.limitations.emplace_back("Links are not judged: operations of devices do not tell how long a message was under way.");
  number_steps(work.step_numbers());
  for (detect::Culprit& culprit : detection_.culprits) culprit.evidence.what = "what it computes";
  acquit();
}

/// Stages of a model are never quite alike: one that carries more is told only where the run would be faster otherwise, and
/// where all of it was replayed.
void Answer::acquit() {
  constexpr double kWorthTelling = 1.005;
  const auto is_stage = [](const detect::Culprit& culprit) { return culprit.cause == detect::Cause::kStageImbalance; };
  if (std::ranges::none_of(detection_.culprits, is_stage)) return;
  std::vector<detect::Culprit> kept;
  const whatif::WhatIf what_if = replay();
  for (std::size_t i = 0; i < detection_.culprits.size(); ++i) {
    const detect::Culprit& culprit = detection_.culprits[i];
    const bool is_judged = is_stage(culprit) && i < what_if.asked.size() && what_if.limitations.empty();
    if (!is_judged || std::max(what_if.asked[i].gain, what_if.asked[i].alone) >= kWorthTelling) {
      kept.push_back(culprit);
      continue;
    }
    detection_.limitations.push_back(culprit_title(culprit) + "; without that the run would have been less than 0.5 % faster.");
  }
  detection_.culprits = std::move(kept);
}

whatif::WhatIf Answer::replay() const {
  whatif::WhatIfOptions options;
  options.graph.jobs = jobs_;
  options.graph.told = &told_;
  for (const detect::Culprit& culprit : detection_.culprits) options.asked.push_back(culprit.ranks);
  return whatif::what_if(corrected_, tables_, options);
}

/// From steps as they are counted to the program's own numbers.
void Answer::number_steps(const std::vector<std::int64_t>& numbers) {
  view_.step_numbers = numbers;
  const auto number = [&numbers](std::int32_t& step) {
    if (step >= 0 && static_cast<std::size_t>(step) < numbers.size()) step = static_cast<std::int32_t>(numbers[static_cast<std::size_t>(step)]);
  };
  for (detect::Culprit& culprit : detection_.culprits) {
    number(culprit.onset_step);
    number(culprit.last_step);
    number(culprit.evidence.step);
  }
}

}  // namespace megascope::answer
