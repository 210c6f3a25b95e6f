#include "plugin/cli/run_directory/run_ends.h"

#include "analysis/hang/open_ends.h"
#include "core/trace/recover.h"
#include "plugin/answer/end_words.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace megascope::cli {

analysis::Existence existence_of(const ProcessInfo& info) {
  switch (trace::liveness_of(info)) {
    case trace::Liveness::kRuns:
      return analysis::Existence::kExists;
    case trace::Liveness::kGone:
      return analysis::Existence::kGone;
    case trace::Liveness::kUnknown:
      break;
  }
  return analysis::Existence::kUnknown;
}

bool has_open_ends(const RecordSource& run) {
  return std::ranges::any_of(run.world_ranks(), [&run](std::int32_t rank) {
    return run.process(rank).info.end_state != EndState::kFinalized;
  });
}

report::OpenEndFacts open_ends_of(const analysis::HangReport& report,
                                  const analysis::CommTable& comms) {
  const analysis::OpenEnds ends = analysis::find_open_ends(report, comms);
  std::string text = answer::open_ends_text(report, ends);
  if (text.empty()) return {};
  return {.text = std::move(text),
          .first = ends.first,
          .evidence = answer::evidence_name(ends.evidence)};
}

report::OpenEndFacts open_ends_of(const RecordSource& run, unsigned jobs) {
  if (!has_open_ends(run)) return {};
  const analysis::CommTable comms(run);
  return open_ends_of(analysis::analyze_hang(run, comms, existence_of, jobs), comms);
}

nlohmann::ordered_json open_ends_json(const report::OpenEndFacts& ends) {
  if (ends.text.empty()) return nullptr;
  return {{"first", ends.first}, {"evidence", ends.evidence}, {"text", ends.text}};
}

}  // namespace megascope::cli
