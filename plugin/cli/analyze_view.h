#pragma once

#include "analysis/align/causality.h"
#include "analysis/detect/detect.h"
#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"
#include "core/record/source.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What `megascope analyze` found, said for people and for programs. Ranks are world ranks.
namespace megascope::cli {

struct AnalyzeView {
  const RecordSource& source;
  const analysis::MatchTables& tables;
  const analysis::Matching& matching;
  const analysis::WaitAnalysis& waits;
  const analysis::Causality& causality;
  const detect::Detection& detection;
  std::vector<double> clock_errors_ns = {};  ///< ascending: bound of each rank's, before the causality pass; empty: of some it is not known

  const std::string& host(std::int32_t world_rank) const { return source.process(world_rank).info.host; }
  std::string function(std::uint32_t index) const { return std::string(tables.functions.function(index).name); }
};

/// Something that a user must look at: collectives that do not match, or somebody who makes the run slow.
bool has_finding(const AnalyzeView& view);

/// The answer in a sentence or two.
std::string verdict_text(const AnalyzeView& view);
/// Who, how slow, since when, what it costs, what shows it.
std::string culprit_text(const AnalyzeView& view, const detect::Culprit& culprit);
nlohmann::ordered_json culprit_json(const detect::Culprit& culprit);
/// What could not be judged, and why; sentences.
std::vector<std::string> limits_of(const AnalyzeView& view);
/// "late sender", "wait at barrier" …
const char* kind_name(analysis::WaitKind kind);
/// "their traces are not here" …: why other ends of messages were not found.
const char* reason_text(analysis::Unmatched why);

std::string analyze_text(const AnalyzeView& view);
std::string analyze_json(const AnalyzeView& view);

}  // namespace megascope::cli
