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

/// Format the result of the replay without slow operations. If nothing was replayed, both contain
/// only WhatIf::limitations, the reasons: the lines are empty if there are none, and the JSON has
/// null as `slowdown`.
std::vector<std::string> what_if_lines(const whatif::WhatIf& what_if);
nlohmann::ordered_json what_if_json(const whatif::WhatIf& what_if);

/// The time lost, the part that the root causes explain, and on which rank or group most of it was
/// lost if there are none. Null if nothing was replayed.
nlohmann::ordered_json loss_json(const whatif::WhatIf& what_if);

/// Known performance problems of MPI programs, with remedies; no lines if none was found.
std::vector<std::string> advice_lines(const AnalyzeView& view);
nlohmann::ordered_json advice_json(const AnalyzeView& view);

/// The complete output.
std::string analyze_text(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);
std::string analyze_json(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);

}  // namespace megascope::cli
