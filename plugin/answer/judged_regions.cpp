#include "plugin/answer/judged_regions.h"

#include "analysis/match/match.h"
#include "analysis/segments/region_links.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace megascope::answer {
namespace {

/// Returns the names of the operations that synchronise over these dimensions, the one with the
/// largest share first: "`backward`, `loss`".
std::string operations_over(const segments::RegionRun& run, const segments::HiddenSync& hidden,
                            const std::vector<std::string>& dimensions) {
  std::multimap<double, std::uint32_t, std::greater<>> by_share;
  for (const segments::HiddenSync::Operation& operation : hidden.operations) {
    if (operation.dimensions == dimensions) by_share.emplace(operation.share, operation.name);
  }
  std::string text;
  for (const auto& [share, name] : by_share)
    text += (text.empty() ? "`" : ", `") + run.names[name] + "`";
  return text;
}

std::pair<std::int32_t, std::int32_t> ascending(std::pair<std::int32_t, std::int32_t> link) {
  return {std::min(link.first, link.second), std::max(link.first, link.second)};
}

/// Returns whether two links are parallel parts of one transfer between two groups: both ends
/// differ by the same coordinate in at most one dimension, which is not one that the link itself
/// crosses.
bool are_lanes(const detect::GroupIndices& groups, const std::vector<std::int32_t>& ranks,
               std::pair<std::int32_t, std::int32_t> a, std::pair<std::int32_t, std::int32_t> b) {
  const auto at = [&ranks](std::int32_t rank) {
    return static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                                    ranks.begin());
  };
  std::size_t different = 0;
  for (const auto& entry : groups) {
    const std::vector<std::int32_t>& index = entry.second;
    const std::int32_t from = index[at(a.first)] - index[at(b.first)];
    const std::int32_t to = index[at(a.second)] - index[at(b.second)];
    const bool is_of_link = index[at(a.first)] != index[at(a.second)];
    if (from != to || (from != 0 && is_of_link)) return false;
    different += from != 0 ? 1 : 0;
  }
  return different <= 1;
}

/// Joins slow links between the same groups to one root cause.
void merge_links(const detect::GroupIndices& groups, const std::vector<std::int32_t>& ranks,
                 std::vector<detect::RootCause>& root_causes) {
  std::vector<detect::RootCause> merged;
  for (detect::RootCause& root_cause : root_causes) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const detect::RootCause& other) {
                                     return !root_cause.links.empty() && !other.links.empty() &&
                                            are_lanes(groups, ranks, ascending(other.links[0]),
                                                      ascending(root_cause.links[0]));
                                   });
    if (same == merged.end()) {
      merged.push_back(std::move(root_cause));
      continue;
    }
    same->links.insert(same->links.end(), root_cause.links.begin(), root_cause.links.end());
    same->ranks.insert(same->ranks.end(), root_cause.ranks.begin(), root_cause.ranks.end());
    std::sort(same->ranks.begin(), same->ranks.end());
    same->ranks.erase(std::unique(same->ranks.begin(), same->ranks.end()), same->ranks.end());
    same->onset_step = std::min(same->onset_step, root_cause.onset_step);
    same->last_step = std::max(same->last_step, root_cause.last_step);
    same->active_steps = std::max(same->active_steps, root_cause.active_steps);
    same->cost_fraction = std::max(same->cost_fraction, root_cause.cost_fraction);
    same->factor = std::max(same->factor, root_cause.factor);
  }
  root_causes = std::move(merged);
}

}  // namespace

JudgedRegions::JudgedRegions(const RecordSource& source, const analysis::MatchTables& tables,
                             const detect::GroupIndices& groups, const detect::Options& options)
    : options_(options),
      run_(segments::read_regions(source, tables)),
      hidden_(segments::find_hidden_sync(run_, groups)),
      own_(std::make_unique<segments::WorkSource>(source, run_, hidden_)),
      steps_{own_->step_ends_ns()} {
  find_shared_work();
  find_links(source, tables);
  options_.steps = &steps_;
  options_.shared = &shared_;
  options_.links = &links_;
  options_.clock_error_ns = detect::Options{}
                                .clock_error_ns;  // a transfer time is measured with one clock
}

void JudgedRegions::find_shared_work() {
  std::set<std::vector<std::string>> dimensions;
  for (const segments::HiddenSync::Operation& operation : hidden_.operations)
    dimensions.insert(operation.dimensions);
  for (const std::vector<std::string>& over : dimensions) {
    groups_.push_back(std::make_unique<segments::WorkSource>(*own_, run_, hidden_, over));
    const segments::WorkSource& source = *groups_.back();
    group_steps_.push_back(
        std::make_unique<detect::StepMarks>(detect::StepMarks{source.step_ends_ns()}));
    shared_.push_back({&source, group_steps_.back().get(), source.members(),
                       operations_over(run_, hidden_, over)});
  }
}

void JudgedRegions::find_links(const RecordSource& source, const analysis::MatchTables& tables) {
  segments::LinkSink sink(run_, tables, own_->step_numbers());
  (void)analysis::match_run(source, tables, sink, options_.jobs);
  links_ = sink.take();
}

detect::Detection JudgedRegions::detect() const {
  detect::Detection detection = detect::detect(*own_, options_);
  for (detect::RootCause& root_cause : detection.root_causes) {
    if (!analysis::is_of_messages(root_cause.cause)) root_cause.evidence.what = "what it computes";
  }
  if (options_.groups != nullptr)
    merge_links(*options_.groups, own_->world_ranks(), detection.root_causes);
  return detection;
}

}  // namespace megascope::answer
