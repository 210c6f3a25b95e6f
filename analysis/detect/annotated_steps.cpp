#include "analysis/detect/annotated_steps.h"

#include "analysis/detect/rank_list.h"
#include "core/record/user_regions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace megascope::detect {
namespace {

/// Identifies a step: its number, and how many earlier steps of the rank have this number. A
/// training may count from 0 in every epoch.
using Key = std::pair<std::int64_t, std::uint32_t>;

struct Step {
  Key key;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

bool annotates_steps(const ProcessDefinitions& process) {
  const bool has_name = std::ranges::any_of(process.regions, [](const RegionDefinition& region) {
    return region.paradigm == Paradigm::kUser && region.name == kStepRegionName;
  });
  return has_name && UserRegions(process).are_beside_mpi();
}

/// Adds a recorded interval of a step: its first one, or a continuation of the last step of this
/// location.
void add_interval(const Call& call, std::size_t first_of_location, std::vector<Step>& steps) {
  const std::int64_t number = annotated_step(call);
  if (number < 0) return;
  const bool goes_on = is_continued(call) && steps.size() > first_of_location &&
                       steps.back().key.first == number && steps.back().end_ns == call.enter_ns;
  if (!goes_on && !call.is_pending)
    return steps.push_back({{number, 0}, call.enter_ns, call.leave_ns});
  if (!goes_on) return;
  if (call.is_pending)
    steps.pop_back();  // it never ended
  else
    steps.back().end_ns = call.leave_ns;
}

/// Returns the annotated steps of a rank in order of time, without overlaps.
std::vector<Step> steps_of(const RecordSource& source, std::int32_t rank) {
  const ProcessDefinitions& process = source.process(rank);
  std::vector<Step> steps;
  if (!annotates_steps(process)) return steps;
  const UserRegions regions(process);
  for (const LocationDefinition& location : process.locations) {
    const std::size_t first = steps.size();
    const auto calls = source.calls(rank, location.id);
    for (Call call; calls->next(call);) {
      const RegionDefinition* region = regions.has(call) ? process.region(call.region) : nullptr;
      if (region != nullptr && region->name == kStepRegionName) add_interval(call, first, steps);
    }
  }
  std::ranges::sort(steps, {}, &Step::begin_ns);
  std::map<std::int64_t, std::uint32_t> counts;
  std::uint64_t end_ns = 0;
  std::erase_if(steps, [&](Step& step) {
    if (step.begin_ns < end_ns || step.end_ns == step.begin_ns)
      return true;  // overlaps a step of another thread
    end_ns = step.end_ns;
    step.key.second = counts[step.key.first]++;
    return false;
  });
  return steps;
}

/// Keeps the steps that all ranks have. Returns false if a rank has them in another order.
bool keep_common(std::vector<std::vector<Step>>& ranks) {
  std::map<Key, std::size_t> counts;
  for (const auto& steps : ranks) {
    for (const Step& step : steps) ++counts[step.key];
  }
  for (auto& steps : ranks)
    std::erase_if(steps, [&](const Step& step) { return counts[step.key] != ranks.size(); });
  return std::ranges::all_of(ranks, [&](const auto& steps) {
    return std::ranges::equal(steps, ranks.front(), {}, &Step::key, &Step::key);
  });
}

}  // namespace

AnnotatedSteps annotated_steps(const RecordSource& source) {
  AnnotatedSteps annotated;
  std::vector<std::vector<Step>> ranks;
  std::vector<std::int32_t> silent;
  std::size_t most = 0;
  for (const std::int32_t rank : source.world_ranks()) {
    ranks.push_back(steps_of(source, rank));
    if (ranks.back().empty()) silent.push_back(rank);
    most = std::max(most, ranks.back().size());
  }
  if (most == 0) return annotated;
  if (!silent.empty()) {
    annotated.limitations.push_back("the annotated steps are not used: ranks " + rank_list(silent) +
                                    " annotate none");
    return annotated;
  }
  if (!keep_common(ranks)) {
    annotated.limitations.emplace_back(
        "the annotated steps are not used: ranks annotate them in different orders");
    return annotated;
  }
  if (ranks.front().empty())
    annotated.limitations.emplace_back(
        "the annotated steps are not used: no step is annotated by all ranks");
  else if (ranks.front().size() < most)
    annotated.limitations.push_back("of up to " + std::to_string(most) +
                                    " steps that a rank annotates, " +
                                    std::to_string(ranks.front().size()) + " are annotated by all");
  for (const Step& step : ranks.front()) annotated.numbers.push_back(step.key.first);
  for (const auto& steps : ranks) {
    auto& begins = annotated.marks.begin_ns.emplace_back();
    auto& ends = annotated.marks.end_ns.emplace_back();
    for (const Step& step : steps) {
      begins.push_back(step.begin_ns);
      ends.push_back(step.end_ns);
    }
  }
  return annotated;
}

}  // namespace megascope::detect
