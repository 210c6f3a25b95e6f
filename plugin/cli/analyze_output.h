#pragma once

#include "analysis/whatif/what_if.h"
#include "exporters/report/run_report.h"
#include "plugin/answer/answer_view.h"
#include "plugin/cli/import_facts.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

/// What `megascope analyze` prints.
namespace megascope::cli {

using AnalyzeView = answer::AnswerView;

nlohmann::ordered_json culprit_json(const detect::Culprit& culprit);

/// How much faster the run would have been; nothing where nothing was replayed.
std::vector<std::string> what_if_lines(const whatif::WhatIf& what_if);
nlohmann::ordered_json what_if_json(const whatif::WhatIf& what_if);

/// Known problems of MPI programs, and their remedies; no lines where there are none.
std::vector<std::string> advice_lines(const AnalyzeView& view);
nlohmann::ordered_json advice_json(const AnalyzeView& view);

std::string analyze_text(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);
std::string analyze_json(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import);

}  // namespace megascope::cli
