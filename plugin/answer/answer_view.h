#pragma once

#include "analysis/align/causality.h"
#include "analysis/cpu/cpu_times.h"
#include "analysis/detect/detect.h"
#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"
#include "core/record/shared_cores.h"
#include "core/record/source.h"
#include "plugin/answer/advice_answer.h"

#include <cstdint>
#include <string>
#include <vector>

/// The results of the analysis, and their wording, which the command, the verdict at the end of a
/// run and exports share. Ranks are world ranks.
namespace megascope::answer {

struct AnswerView {
  const RecordSource& source;
  const analysis::MatchTables& tables;
  const analysis::Matching& matching;
  const analysis::WaitAnalysis& waits;
  const analysis::Causality& causality;
  const detect::Detection& detection;
  std::vector<double> clock_errors_ns = {};  ///< ascending: bound of each rank's, before the
                                             ///< causality pass; empty: of some it is not known
  bool has_operations = false;  ///< regions of another tool's timeline, no MPI calls: waits are
                                ///< seldom seen in them
  bool are_steps_annotated = false;    ///< by the program or the timeline; else inferred from calls
                                       ///< that come back
  std::vector<cpu::RankCpu> cpu = {};  ///< by index in world_ranks(); divided between outside and
                                       ///< inside of MPI only where there are root causes
  std::vector<SharedCores> shared_cores = {};
  Advice advice = {};  ///< empty unless asked for
  std::vector<std::int64_t> step_numbers =
      {};  ///< the program's own, ascending; empty: steps were found, and count from 0

  std::vector<detect::RootCause> minor = {};  ///< found, but by the replay of next to no cost

  const std::string& host(std::int32_t world_rank) const {
    return source.process(world_rank).info.host;
  }
  std::string function(std::uint32_t index) const {
    return std::string(tables.functions.function(index).name);
  }
};

/// Returns whether the user must look at something: mismatched collectives, or a root cause.
bool has_finding(const AnswerView& view);

/// Returns the verdict: one or two sentences.
std::string verdict_text(const AnswerView& view);
/// Describes a root cause: ranks, slowdown, first step, cost and evidence.
std::string root_cause_text(const AnswerView& view, const detect::RootCause& root_cause);
/// Number of root causes that are reported in sentences, the most expensive first; the others are
/// in tables only.
inline constexpr std::size_t kMaxCauseSentences = 3;
/// Root causes that cost less than this fraction of the run are in tables only.
inline constexpr double kMinSentenceCost = 0.005;
/// Returns whether the root cause at this index of AnswerView::detection is reported in a sentence.
bool has_sentence(const AnswerView& view, std::size_t index);
/// Describes ranks and slowdown only: "Rank 3 (n1) computes 1.24 times as long as its 7 peers".
std::string root_cause_title(const detect::RootCause& root_cause);
/// Returns sentences on what could not be judged, and why.
std::vector<std::string> limits_of(const AnswerView& view);
/// "late sender", "wait at barrier" …
const char* kind_name(analysis::WaitKind kind);

}  // namespace megascope::answer
