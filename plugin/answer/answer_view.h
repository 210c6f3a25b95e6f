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

/// What the analysis of a run found, and how it is said: the same words in the command, at the end
/// of a run and in exports. Ranks are world ranks.
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

/// Something that a user must look at: collectives that do not match, or somebody who makes the run
/// slow.
bool has_finding(const AnswerView& view);

/// The answer in a sentence or two.
std::string verdict_text(const AnswerView& view);
/// Who, how slow, since when, what it costs, what shows it.
std::string root_cause_text(const AnswerView& view, const detect::RootCause& root_cause);
/// So many causes are reported in sentences, the most expensive first; others are in tables.
inline constexpr std::size_t kMaxCauseSentences = 3;
/// A cause below this share of the run is in tables only.
inline constexpr double kMinSentenceCost = 0.005;
/// Is the root cause of this index in AnswerView::detection reported in a sentence?
bool has_sentence(const AnswerView& view, std::size_t index);
/// The same, only who and how slow: "Rank 3 (n1) computes 1.24 times as long as its 7 peers".
std::string root_cause_title(const detect::RootCause& root_cause);
/// What could not be judged, and why; sentences.
std::vector<std::string> limits_of(const AnswerView& view);
/// "late sender", "wait at barrier" …
const char* kind_name(analysis::WaitKind kind);

}  // namespace megascope::answer
