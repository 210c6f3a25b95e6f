#include "plugin/answer/synced_run.h"

#include "analysis/detect/step_finder.h"
#include "plugin/answer/collective_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace megascope::answer {
namespace {

using detect::Cause;
using detect::RootCause;
using segments::HiddenWaits;

bool know_world(const RecordSource& run) {
  return std::ranges::all_of(run.world_ranks(), [&run](std::int32_t rank) {
    return std::ranges::any_of(run.process(rank).comms, [](const CommDefinition& comm) {
      return comm.kind == CommKind::kWorld;
    });
  });
}

std::string location_text(const HiddenWaits::Operation& operation) {
  return operation.name.empty() ? "work between MPI calls" : "`" + operation.name + "`";
}

/// Returns whether the root cause is one rank with long work.
bool is_of_one_rank(const RootCause& root_cause) {
  return root_cause.ranks.size() == 1 && analysis::is_of_compared_work(root_cause.cause);
}

/// Returns whether the factors differ by at most a fifth of the largest excess.
bool are_alike_slow(const std::vector<const RootCause*>& members) {
  constexpr double kAlike = 0.2;
  const auto [least, most] = std::ranges::minmax(
      members, {}, [](const RootCause* root_cause) { return root_cause->factor; });
  return most->factor - least->factor <= kAlike * (most->factor - 1.0);
}

/// Returns whether the step ranges of all members have a step in common.
bool are_slow_together(const std::vector<const RootCause*>& members) {
  const auto last_onset = std::ranges::max(members, {}, &RootCause::onset_step)->onset_step;
  const auto first_end = std::ranges::min(members, {}, &RootCause::last_step)->last_step;
  return last_onset <= first_end;
}

/// Sets the steps of the joint root cause to those of all members.
void widen(RootCause& joint, const std::vector<const RootCause*>& members) {
  joint.onset_step = std::ranges::min(members, {}, &RootCause::onset_step)->onset_step;
  joint.last_step = std::ranges::max(members, {}, &RootCause::last_step)->last_step;
  std::set<std::int64_t> steps;
  for (const RootCause* member : members) steps.insert(member->steps.begin(), member->steps.end());
  joint.steps.assign(steps.begin(), steps.end());
  joint.active_steps = static_cast<std::int32_t>(joint.steps.size());
}

}  // namespace

SyncedRun::SyncedRun(const RecordSource& run, const detect::GroupIndices& specified, unsigned jobs)
    : run_(run) {
  if (segments::is_of_regions(run)) return;
  reported_ = detect::annotated_steps(run);
  if (run.world_ranks().size() < 2 || !know_world(run)) return;
  segments::GapSteps steps;
  if (reported_.is_there())
    steps.marks = &reported_.marks;
  else
    steps.markers = detect::find_step_markers(run, jobs);
  HiddenWaits waits = segments::find_hidden_waits(run, steps, specified);
  is_too_long_ = waits.is_too_long;
  if (waits.is_there()) waits_ = std::make_unique<segments::WaitsSource>(run, std::move(waits));
}

std::vector<std::string> SyncedRun::notes() const {
  std::vector<std::string> notes;
  if (is_too_long_) {
    notes.emplace_back(
        "Ranks synchronise between MPI calls, and the run is too long to find all of these waits: "
        "ranks that wait there may be reported as slow.");
  }
  if (!has_waits()) return notes;
  const HiddenWaits& waits = waits_->waits();
  for (std::uint32_t i = 0; i < waits.operations.size(); ++i) {
    std::set<std::uint32_t> groups;
    for (const auto& process : waits.processes) {
      for (const HiddenWaits::Wait& wait : process) {
        if (wait.operation == i) groups.insert(wait.group);
      }
    }
    if (groups.empty()) continue;
    std::vector<std::int32_t> ranks;
    for (const std::uint32_t member : waits.groups[*groups.begin()])
      ranks.push_back(run_.world_ranks()[member]);
    const HiddenWaits::Operation& operation = waits.operations[i];
    notes.push_back(fmt::format(
        "{}{} synchronise in {}, where no MPI call shows it: the shortest time counts as work, the "
        "rest ({:.0f} % of the time there) as waiting.",
        ranks_text(ranks),
        groups.size() > 1 ? fmt::format(" and {} other groups", groups.size() - 1) : std::string(),
        location_text(operation), 100.0 * operation.wait_ns / std::max(operation.time_ns, 1.0)));
    notes.back().front() = static_cast<char>(
        std::toupper(static_cast<unsigned char>(notes.back().front())));
  }
  return notes;
}

void SyncedRun::join(std::vector<RootCause>& root_causes) const {
  if (!has_waits()) return;
  const HiddenWaits& waits = waits_->waits();
  for (std::uint32_t group = 0; group < waits.groups.size(); ++group) {
    const std::vector<std::uint32_t>& processes = waits.groups[group];
    if (processes.size() == run_.world_ranks().size())
      continue;  // all ranks cannot be slow together
    std::vector<std::int32_t> ranks;
    for (const std::uint32_t process : processes) ranks.push_back(run_.world_ranks()[process]);
    const auto is_member = [&ranks](const RootCause& root_cause) {
      return is_of_one_rank(root_cause) &&
             std::ranges::binary_search(ranks, root_cause.ranks.front());
    };
    std::vector<const RootCause*> members;
    std::set<std::int32_t> slow;
    for (const RootCause& root_cause : root_causes) {
      if (!is_member(root_cause)) continue;
      members.push_back(&root_cause);
      slow.insert(root_cause.ranks.front());
    }
    if (slow.size() != ranks.size() || members.size() != slow.size()) continue;
    if (!are_alike_slow(members) || !are_slow_together(members)) continue;
    RootCause joint = *members.front();
    joint.cause = Cause::kSlowCompute;
    joint.ranks = ranks;
    joint.groups.clear();
    widen(joint, members);
    for (const RootCause* member : members) {
      joint.hosts.insert(joint.hosts.end(), member->hosts.begin(), member->hosts.end());
      joint.cost_fraction = std::max(joint.cost_fraction, member->cost_fraction);
    }
    std::ranges::sort(joint.hosts);
    joint.hosts.erase(std::unique(joint.hosts.begin(), joint.hosts.end()), joint.hosts.end());
    std::set<std::string> operations;
    for (const HiddenWaits::Wait& wait : waits.processes[processes.front()]) {
      if (wait.group == group) operations.insert(location_text(waits.operations[wait.operation]));
    }
    for (const std::string& operation : operations)
      joint.synchronised_in += (joint.synchronised_in.empty() ? "" : ", ") + operation;
    std::erase_if(root_causes, is_member);
    root_causes.push_back(std::move(joint));
  }
}

detect::StepMarks marks_of_found_steps(const RecordSource& run, unsigned jobs) {
  detect::StepMarks marks;
  for (const detect::StepTimes& steps : detect::find_step_times(run, jobs)) {
    auto& begins = marks.begin_ns.emplace_back();
    for (std::size_t i = 0; i < steps.ends_ns.size(); ++i) begins.push_back(steps.begin_of(i));
    marks.end_ns.push_back(steps.ends_ns);
  }
  return marks;
}

}  // namespace megascope::answer
