#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/answer/collective_words.h"
#include "plugin/cli/analyze/output.h"

#include <nlohmann/json.hpp>

#include <algorithm>

/// Output of known performance problems.
namespace megascope::cli {
namespace {

constexpr std::size_t kMaxShown = 8;
constexpr std::size_t kMaxColumns = 4000;

void append(std::vector<std::string>& lines, const std::string& text, const std::string& first,
            std::size_t indent) {
  std::string lead = first;
  for (const std::string& line : wrapped(printable(text, kMaxColumns), kTextColumns - indent)) {
    lines.push_back(lead + line);
    lead = std::string(indent, ' ');
  }
}

nlohmann::ordered_json finding_json(const AnalyzeView& view, const advice::Finding& finding) {
  using Json = nlohmann::ordered_json;
  const bool has_function = finding.function != advice::kNoIndex;
  const bool has_comm = finding.comm != advice::kNoIndex;
  const bool has_site = finding.site < view.advice.sites.size();
  return {{"rule", finding.rule},
          {"text", finding.text},
          {"remedy", finding.remedy},
          {"ranks", finding.ranks},
          {"count", finding.count},
          {"share", finding.share > 0.0 ? Json(finding.share) : Json(nullptr)},
          {"function", has_function ? Json(view.function(finding.function)) : Json(nullptr)},
          {"communicator",
           has_comm ? Json(answer::object_name(view.tables.comms, finding.comm)) : Json(nullptr)},
          {"site", has_site ? Json(view.advice.sites[finding.site]) : Json(nullptr)},
          {"region", finding.region.empty() ? Json(nullptr) : Json(finding.region)}};
}

}  // namespace

std::vector<std::string> advice_lines(const AnalyzeView& view) {
  std::vector<std::string> lines;
  const std::vector<advice::Finding>& findings = view.advice.findings;
  if (findings.empty()) return lines;
  lines.insert(lines.end(), {"", "Advice"});
  for (std::size_t i = 0; i < std::min(findings.size(), kMaxShown); ++i) {
    append(lines, findings[i].text, "  - ", 4);
    append(lines, findings[i].remedy, "    ", 4);
  }
  if (findings.size() > kMaxShown)
    lines.push_back("  And " + std::to_string(findings.size() - kMaxShown) + " more, in --json.");
  return lines;
}

nlohmann::ordered_json advice_json(const AnalyzeView& view) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const advice::Finding& finding : view.advice.findings)
    json.push_back(finding_json(view, finding));
  return json;
}

}  // namespace megascope::cli
