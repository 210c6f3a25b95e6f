#pragma once

#include "analysis/whatif/what_if.h"
#include "exporters/report/run_report.h"
#include "plugin/answer/answer_view.h"
#include "plugin/cli/run_directory/import_facts.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

/// Output of `megascope analyze`, as text lines and as JSON.
namespace megascope::cli {

using AnalyzeView = answer::AnswerView;

/// One straggler or other root cause as JSON.
nlohmann::ordered_json root_cause_json(const detect::RootCause& root_cause);

/// Returns the result of the replay, that is, how much faster the run would have been without slow
/// operations. If nothing was replayed, returns only the reasons (WhatIf::limitations), or no lines
/// if there are no reasons.
std::vector<std::string> what_if_lines(const whatif::WhatIf& what_if);
/// Returns the same as JSON. If nothing was replayed, `slowdown` is null and `limits` has the
/// reasons.
nlohmann::ordered_json what_if_json(const whatif::WhatIf& what_if);

/// Returns the fraction of time that slow operations cost (`total`), and the part of it that the
/// root causes explain (`explained`). If there are no root causes, `mostly_in` names the rank or
/// group on which most of the time was lost. Returns null if nothing was replayed.
nlohmann::ordered_json loss_json(const whatif::WhatIf& what_if);

/// Returns the known performance problems of MPI programs that the run shows, with remedies.
/// Returns no lines if there are none.
std::vector<std::string> advice_lines(const AnalyzeView& view);
nlohmann::ordered_json advice_json(const AnalyzeView& view);

/// The complete output.
std::string analyze_text(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);
std::string analyze_json(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);

}  // namespace megascope::cli
