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

/// The results of the analyses of a run, and their texts. The command, the verdict at the end of a
/// run and exports use the same texts. Ranks are world ranks.
namespace megascope::answer {

/// The results of Answer. References are valid as long as the Answer.
struct AnswerView {
  const RecordSource& source;
  const analysis::MatchTables& tables;
  const analysis::Matching& matching;
  const analysis::WaitAnalysis& waits;
  const analysis::Causality& causality;
  const detect::Detection& detection;
  /// Error bounds of the ranks' clocks in ns, ascending: measured, or inferred from messages.
  /// Empty: not known for some rank.
  std::vector<double> clock_errors_ns = {};
  /// Whether this is a run of regions, without MPI calls. Few waits are visible in such a run.
  bool has_operations = false;
  /// Whether the program or the timeline annotates the steps. If false, they are inferred from
  /// recurring calls.
  bool are_steps_annotated = false;
  /// CPU times of the ranks, by index in world_ranks(). Whether a CPU time was spent inside or
  /// outside of MPI is known only if explain_by_cpu_times() read the calls.
  std::vector<cpu::RankCpu> cpu = {};
  std::vector<SharedCores> shared_cores = {};  ///< sets of ranks that share cores
  Advice advice = {};                          ///< empty unless Answer::Options::has_advice
  std::vector<std::int64_t> step_numbers =
      {};  ///< application's step numbers, by step; empty: steps are numbered from 0

  /// Root causes that the replay did not confirm: they cost less than 0.5 % of the run (2 % if
  /// other causes hide them).
  std::vector<detect::RootCause> minor = {};

  /// The host of a rank.
  const std::string& host(std::int32_t world_rank) const {
    return source.process(world_rank).info.host;
  }
  /// The name of the MPI function with this index in tables.functions.
  std::string function(std::uint32_t index) const {
    return std::string(tables.functions.function(index).name);
  }
};

/// Returns whether the run has a problem: mismatched collectives, or a root cause.
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
/// Returns the name of a kind of wait state: for example "late sender" or "wait at barrier".
const char* kind_name(analysis::WaitKind kind);

}  // namespace megascope::answer
