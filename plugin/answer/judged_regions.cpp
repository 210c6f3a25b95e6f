#include "plugin/answer/judged_regions.h"

#include "analysis/match/match.h"
#include "analysis/pieces/region_links.h"

#include <set>
#include <string>

namespace megascope::answer {
namespace {

/// "`backward`, `loss`": what synchronises over these dimensions, the longest first.
std::string operations_over(const pieces::RegionRun& run, const pieces::HiddenSync& hidden, const std::vector<std::string>& dimensions) {
  std::multimap<double, std::uint32_t, std::greater<>> by_share;
  for (const pieces::HiddenSync::Operation& operation : hidden.operations) {
    if (operation.dimensions == dimensions) by_share.emplace(operation.share, operation.name);
  }
  std::string text;
  for (const auto& [share, name] : by_share) text += (text.empty() ? "`" : ", `") + run.names[name] + "`";
  return text;
}

}  // namespace

JudgedRegions::JudgedRegions(const RecordSource& source, const analysis::MatchTables& tables, const detect::GroupIndices& groups,
                             const detect::Options& options)
    : options_(options), run_(pieces::read_regions(source, tables)), hidden_(pieces::find_hidden_sync(run_, groups)),
      own_(std::make_unique<pieces::WorkSource>(source, run_, hidden_)), steps_{own_->step_ends_ns()} {
  find_shared_work();
  find_links(source, tables);
  options_.steps = &steps_;
  options_.shared = &shared_;
  options_.links = &links_;
  options_.clock_error_ns = detect::Options{}.clock_error_ns;  // transfers are told by one clock each
}

void JudgedRegions::find_shared_work() {
  std::set<std::vector<std::string>> dimensions;
  for (const pieces::HiddenSync::Operation& operation : hidden_.operations) dimensions.insert(operation.dimensions);
  for (const std::vector<std::string>& over : dimensions) {
    groups_.push_back(std::make_unique<pieces::WorkSource>(*own_, run_, hidden_, over));
    const pieces::WorkSource& source = *groups_.back();
    group_steps_.push_back(std::make_unique<detect::StepMarks>(detect::StepMarks{source.step_ends_ns()}));
    shared_.push_back({&source, group_steps_.back().get(), source.members(), operations_over(run_, hidden_, over)});
  }
}

void JudgedRegions::find_links(const RecordSource& source, const analysis::MatchTables& tables) {
  pieces::LinkSink sink(run_, tables, own_->step_numbers());
  (void)analysis::match_run(source, tables, sink, options_.jobs);
  links_ = sink.take();
}

detect::Detection JudgedRegions::detect() const {
  detect::Detection detection = detect::detect(*own_, options_);
  for (detect::Culprit& culprit : detection.culprits) {
    if (culprit.cause != detect::Cause::kSlowLink) culprit.evidence.what = "what it computes";
  }
  return detection;
}

}  // namespace megascope::answer
