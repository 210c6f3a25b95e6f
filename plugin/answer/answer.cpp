#include "plugin/answer/answer.h"

#include "analysis/match/both_sinks.h"
#include "plugin/answer/cpu_causes.h"
#include "plugin/answer/one_claim.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace megascope::answer {
namespace {

constexpr double kNoIdeaNs = 1e15;

}  // namespace

std::vector<double> measured_errors_ns(const RecordSource& run, const RunTime& time) {
  std::vector<double> errors_ns;
  for (const std::int32_t rank : run.world_ranks()) {
    const DomainTime& domain = time.of(run.process(rank).info);
    errors_ns.push_back(domain.is_measured ? domain.error_ns : -1.0);
  }
  return errors_ns;
}

namespace {

/// Returns the error bound of each rank's clock in ns, ascending: the measured one, or else the one
/// inferred from the program's messages. Empty if neither is known for some clock.
std::vector<double> clock_errors(std::vector<double> measured_ns,
                                 const analysis::Anchors& anchors) {
  for (std::size_t i = 0; i < measured_ns.size(); ++i) {
    if (measured_ns[i] < 0.0 && i < anchors.errors_ns.size()) measured_ns[i] = anchors.errors_ns[i];
    if (measured_ns[i] < 0.0) return {};
  }
  std::ranges::sort(measured_ns);
  return measured_ns;
}

}  // namespace

std::vector<std::int32_t> ranks_of_other_runs(const RecordSource& run) {
  const std::string* id = nullptr;
  std::vector<std::int32_t> found;
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessInfo& info = run.process(rank).info;
    if (info.is_standalone || info.run_id.empty()) continue;
    if (id == nullptr) id = &info.run_id;
    if (info.run_id != *id) found.push_back(rank);
  }
  return found;
}

Answer::Answer(const RecordSource& run, const RunTime& time, const Options& options)
    : recorded_(run),
      options_(options),
      synced_(run, analysis::parallel_groups(run).indices, options.jobs),
      run_(synced_.source()),
      tables_(run_),
      states_(tables_),
      clock_errors_ns_(clock_errors(measured_errors_ns(run, time), {})),
      groups_(analysis::parallel_groups(run)),
      check_(tables_, run_.world_ranks(), groups_.indices),
      view_{run_,       tables_,    matching_,        waits_,
            causality_, detection_, clock_errors_ns_, segments::is_of_regions(run)} {
  note_clock_errors();
  if (!groups_.indices.empty()) judge_.groups = &groups_.indices;
  judge_.jobs = options.jobs;
  read(run_);
  drop_wrong_groups();
  causality_ = analysis::restore_causality(run_, tables_, matching_, measured_errors_ns(run, time),
                                           options.jobs);
  shown_.emplace(recorded_, causality_);
  corrected_.emplace(run_, causality_);
  if (causality_.violations_before != 0) {  // repeat the analyses in corrected times
    clock_errors_ns_ = view_.clock_errors_ns = clock_errors(measured_errors_ns(run, time),
                                                            causality_.anchors);
    note_clock_errors();
    read(corrected_->source());
  }
  matching_.collective_count -= std::min(matching_.collective_count, synced_.instance_count());
  waits_ = analysis::analyze_waits(states_, matching_, tables_, options.jobs);
  if (gather_) view_.advice = make_advice(view_, *gather_);
  if (view_.has_operations)
    judge_operations();
  else if (!detection_.root_causes.empty())
    confirm();
  detection_.limitations.insert(detection_.limitations.end(), groups_.problems.begin(),
                                groups_.problems.end());
  add_grid_coordinates();
  drop_negligible();
  drop_absent_wholes(detection_.root_causes);
  drop_advice_on_stages();
}

/// If some clock was never compared, times of different ranks are not comparable: the limit becomes
/// infinite in effect.
void Answer::note_clock_errors() {
  constexpr double kMinNs = detect::Options{}.clock_error_ns;
  judge_.clock_error_ns = clock_errors_ns_.empty() ? kNoIdeaNs
                                                   : std::max(kMinNs, 2 * clock_errors_ns_.back());
}

template <class Sink>
analysis::Matching Answer::match(const RecordSource& source, Sink& sink) {
  analysis::BothSinks checked(sink, check_);
  if (!options_.has_advice) return analysis::match_run(source, tables_, checked, options_.jobs);
  if (!gather_) gather_.emplace(run_, tables_);
  analysis::BothSinks both(checked, *gather_);
  return analysis::match_run(source, tables_, both, options_.jobs);
}

/// First finds the root causes, then matches. The graph for replays is collected in the matching
/// pass, so the steps to replay must be known before it.
void Answer::read(const RecordSource& source) {
  if (view_.has_operations) {
    analysis::BothSinks checked(states_, check_);
    matching_ = analysis::match_run(source, tables_, checked, options_.jobs);
    return;
  }
  judge_calls(source);
  program_.reset();
  const bool is_confirmed = !detection_.root_causes.empty();
  whatif::StepPlan plan;
  if (options_.has_replay || is_confirmed)
    plan = whatif::plan_steps(detection_.steps, {.annotated = &reported_});
  is_whole_replayed_ = plan.limitations.empty();
  if (!options_.has_replay && !(is_confirmed && is_whole_replayed_)) {
    matching_ = match(source, states_);
    return;
  }
  program_.emplace(source, tables_, std::move(plan));
  analysis::BothSinks both(states_, *program_);
  matching_ = match(source, both);
}

/// If the specified groups contradict the communication, ignores them and judges again with
/// inferred groups.
void Answer::drop_wrong_groups() {
  std::string problem = check_.contradiction();
  if (problem.empty()) return;
  groups_.problems.push_back(std::move(problem));
  groups_.indices.clear();
  judge_.groups = nullptr;
  if (!view_.has_operations) judge_calls(run_);
}

/// Adds the coordinates in the parallel groups to root causes of a single rank.
void Answer::add_grid_coordinates() {
  for (detect::RootCause& root_cause : detection_.root_causes) {
    std::erase(root_cause.hosts, "");
    if (root_cause.ranks.size() != 1 || !root_cause.groups.empty()) continue;
    for (const ParallelIndex& parallel : run_.process(root_cause.ranks.front()).info.parallel) {
      if (parallel.size > 1 && groups_.indices.contains(parallel.name))
        root_cause.groups[parallel.name] = parallel.index;
    }
  }
}

/// Drops root causes of negligible cost: every machine disturbs ranks a little now and then.
void Answer::drop_negligible() {
  constexpr double kMinListedCost = 0.001;
  const std::size_t before = detection_.root_causes.size();
  std::erase_if(detection_.root_causes, [](const detect::RootCause& root_cause) {
    return root_cause.cost_fraction < kMinListedCost;
  });
  const std::size_t negligible = before - detection_.root_causes.size();
  if (negligible == 0) return;
  detection_.limitations.push_back((negligible == 1
                                        ? std::string("One disturbance")
                                        : std::to_string(negligible) + " disturbances") +
                                   " that cost less than 0.1 % of the run are not listed.");
}

/// Drops advice on uneven work if the verdict names a pipeline stage: its remedy is to move layers,
/// not to divide data. Only for specified stages; inferred ones may be ranks of any program.
void Answer::drop_advice_on_stages() {
  const bool has_stage = std::ranges::any_of(
      detection_.root_causes, [](const detect::RootCause& root_cause) {
        return root_cause.cause == detect::Cause::kStageImbalance &&
               root_cause.has_specified_groups;
      });
  if (has_stage)
    std::erase_if(view_.advice.findings,
                  [](const advice::Finding& finding) { return finding.rule == "rank_imbalance"; });
}

/// Finds root causes by annotated steps, or else by inferred ones.
void Answer::judge_calls(const RecordSource& source) {
  const bool is_first = &source == &run_;
  reported_ = is_first ? synced_.annotated() : detect::annotated_steps(source);
  judge_.steps = reported_.is_there() ? &reported_.marks : nullptr;
  if (synced_.has_waits() && !reported_.is_there()) {
    found_ = marks_of_found_steps(is_first ? recorded_ : shown_->source(), options_.jobs);
    judge_.steps = &found_;
  }
  view_.are_steps_annotated = reported_.is_there();
  detection_ = detect::detect(source, judge_);
  synced_.join(detection_.root_causes);
  for (const std::string& note : synced_.notes()) detection_.limitations.push_back(note);
  drop_inferred_groups();
  explain_by_cpu_times(source, options_.jobs, view_, detection_);
  make_one_claim_each(detection_.root_causes);
  detection_.limitations.insert(detection_.limitations.end(), reported_.limitations.begin(),
                                reported_.limitations.end());
  // If the application's step numbers do not increase, they do not identify steps.
  if (reported_.is_there() && std::ranges::is_sorted(reported_.numbers, std::less_equal<>()))
    number_steps(reported_.numbers);
}

void Answer::judge_operations() {
  regions_.emplace(run_, tables_, groups_.indices,
                   judge_);  // durations are measured with the rank's own clock
  detection_ = regions_->detect();
  drop_inferred_groups();
  make_one_claim_each(detection_.root_causes);
  number_steps(regions_->step_numbers());
  view_.are_steps_annotated = true;
  if (!detection_.root_causes.empty()) confirm();
}

/// Removes the names of inferred groups: stages unless "pp" was specified, replicas unless "dp"
/// was.
void Answer::drop_inferred_groups() {
  const bool has_stages = groups_.indices.contains("pp");
  const bool has_replicas = groups_.indices.contains("dp");
  for (detect::RootCause& root_cause : detection_.root_causes) {
    root_cause.has_specified_groups = root_cause.cause == detect::Cause::kStageImbalance
                                          ? has_stages
                                          : has_replicas;
    if (!has_stages) root_cause.groups.erase("pp");
    if (!has_replicas) root_cause.groups.erase("dp");
  }
}

/// Returns the fraction of the run for which other ranks waited for this rank, summed over them; at
/// most 1.
double Answer::caused_fraction(std::int32_t world_rank) const {
  const auto rank = std::ranges::find(waits_.ranks, world_rank, &analysis::RankWaits::world_rank);
  return rank == waits_.ranks.end() || rank->wall_ns == 0
             ? 0.0
             : std::min(1.0, rank->caused_ns / static_cast<double>(rank->wall_ns));
}

/// Replays the root causes, sets their costs and drops those that the replay does not confirm,
/// because the run would not have been faster without them. These become AnswerView::minor.
void Answer::confirm() {
  constexpr double kMinCost = 0.005;  // fraction of the run
  constexpr double kSureCost = 0.02;  // the same for causes that other causes hide
  if (!is_whole_replayed_) return;
  const whatif::WhatIf what_if = play(0);
  if (!what_if.is_there()) return;
  if (!view_.has_operations && !what_if.limitations.empty()) return;  // cyclic waits were cut
  std::vector<detect::RootCause> kept;
  for (std::size_t i = 0; i < detection_.root_causes.size(); ++i) {
    detect::RootCause& root_cause = detection_.root_causes[i];
    root_cause.cost_fraction = what_if.asked[i].cost;
    const bool shows_now = what_if.asked[i].gain >= 1.0 + kMinCost;
    if (root_cause.cost_fraction >= (shows_now ? kMinCost : kSureCost)) {
      kept.push_back(root_cause);
    } else {
      view_.minor.push_back(root_cause);
    }
  }
  const bool are_all_kept = kept.size() == detection_.root_causes.size();
  detection_.root_causes = std::move(kept);
  if (!are_all_kept &&
      !detection_.root_causes.empty()) {  // the loss is now split among fewer causes
    const whatif::WhatIf again = play(0);
    for (std::size_t i = 0; i < detection_.root_causes.size(); ++i)
      detection_.root_causes[i].cost_fraction = again.asked[i].cost;
  }
  std::ranges::stable_sort(detection_.root_causes, std::greater<>(),
                           &detect::RootCause::cost_fraction);
}

namespace {

/// Returns what to replay for a root cause: its work becomes as fast as that of its peers. Uneven
/// work cannot disappear, so it is only reduced to the mean.
whatif::Asked asked_for(const detect::RootCause& root_cause) {
  whatif::Asked asked{root_cause.ranks, root_cause.links};
  if (!root_cause.links.empty()) return asked;
  asked.factor = root_cause.balance_factor;
  asked.steps = root_cause.steps;
  return asked;
}

}  // namespace

whatif::WhatIf Answer::replay() {
  whatif::WhatIf what_if = play(whatif::WhatIfOptions{}.max_scenarios);
  for (std::size_t i = 0; i < what_if.asked.size() && i < detection_.root_causes.size(); ++i) {
    if (detection_.root_causes[i].is_in_mpi) raise_gain_to_cost(what_if.asked[i]);
  }
  return what_if;
}

/// Replays the root causes and, in addition, up to max_scenarios scenarios of each kind.
whatif::WhatIf Answer::play(std::size_t max_scenarios) {
  whatif::WhatIfOptions options;
  options.max_scenarios = max_scenarios;
  options.has_costs_only = max_scenarios == 0;
  options.graph.jobs = options_.jobs;
  options.graph.annotated = &reported_;
  segments::RegionRun moved;
  segments::HiddenSync moved_hidden;
  if (regions_ && causality_.violations_before == 0) {
    options.graph.regions = &regions_->run();
    options.graph.hidden = &regions_->hidden();
  } else if (regions_ && !graph_) {
    moved = segments::read_regions(corrected_->source(), tables_);
    moved_hidden = segments::find_hidden_sync(moved, groups_.indices);
    options.graph.regions = &moved;
    options.graph.hidden = &moved_hidden;
  }
  for (const detect::RootCause& root_cause : detection_.root_causes)
    options.asked.push_back(asked_for(root_cause));
  if (!graph_) {
    graph_ = program_ ? program_->take()
                      : whatif::build_graph(corrected_->source(), tables_, options.graph);
    program_.reset();
    prepared_.emplace(*graph_);
  }
  const RecordSource& source = corrected_->source();
  const std::vector<std::vector<std::string>> no_groups(source.world_ranks().size());
  whatif::WhatIf what_if = groups_.indices.empty()  // no groups, or ignored ones
                               ? whatif::what_if(*prepared_, no_groups, options)
                               : whatif::what_if(*prepared_, source, options);
  add_blocked_in_mpi(what_if);
  return what_if;
}

/// A cause that is blocked in MPI calls costs more than the replay shows.
void raise_gain_to_cost(whatif::Scenario& scenario) {
  constexpr double kMaxCost = 0.999;
  scenario.gain = std::max(scenario.gain, 1.0 / (1.0 - std::min(scenario.cost, kMaxCost)));
  scenario.alone = std::max(scenario.alone, scenario.gain);
}

/// Adds the cost of ranks that are blocked in MPI calls. The replay contains when calls end, but
/// not why. The cost is at most the blocked time, at most what others waited for the rank, and at
/// most the replayed cost plus the unexplained loss.
void Answer::add_blocked_in_mpi(whatif::WhatIf& what_if) const {
  for (std::size_t i = 0; i < what_if.asked.size() && i < detection_.root_causes.size(); ++i) {
    const detect::RootCause& root_cause = detection_.root_causes[i];
    if (!root_cause.is_in_mpi) continue;
    const double unexplained = std::max(0.0, what_if.loss.total - what_if.loss.explained);
    const double replayed = what_if.asked[i].cost;
    const double cost = std::min({root_cause.cost_fraction,
                                  caused_fraction(root_cause.ranks.front()),
                                  replayed + unexplained});
    what_if.asked[i].cost = std::max(replayed, cost);
    what_if.loss.explained += what_if.asked[i].cost - replayed;
  }
}

/// Converts step indices to the application's step numbers.
void Answer::number_steps(const std::vector<std::int64_t>& numbers) {
  view_.step_numbers = numbers;
  const auto number = [&numbers](std::int32_t& step) {
    if (step >= 0 && static_cast<std::size_t>(step) < numbers.size())
      step = static_cast<std::int32_t>(numbers[static_cast<std::size_t>(step)]);
  };
  for (detect::RootCause& root_cause : detection_.root_causes) {
    number(root_cause.onset_step);
    number(root_cause.last_step);
    number(root_cause.evidence.step);
    for (std::int64_t& step : root_cause.steps) {
      if (static_cast<std::size_t>(step) < numbers.size())
        step = numbers[static_cast<std::size_t>(step)];
    }
  }
}

}  // namespace megascope::answer
