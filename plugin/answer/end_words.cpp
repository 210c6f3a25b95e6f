#include "plugin/answer/end_words.h"

#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/answer/collective_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace megascope::answer {
namespace {

using analysis::FirstEnd;
using analysis::HangReport;
using analysis::OpenEnd;
using analysis::OpenEnds;

constexpr std::size_t kMaxCallSites = 4;
constexpr std::size_t kNameColumns = 60;

/// "in MPI_Barrier, entered at 12.3 s"
std::string location_text(const HangReport& report, const OpenEnd& end) {
  if (!end.has_called) return "before its first MPI call returned";
  const std::string name = printable(report.processes.function(end.world_rank, end.region).name,
                                     kNameColumns);
  const std::string at = human_duration(static_cast<std::int64_t>(end.at_ns));
  return end.is_inside ? fmt::format("in {}, entered at {}", name, at)
                       : fmt::format("outside of MPI, after {} returned at {}", name, at);
}

std::string capital(std::string text) {
  if (text.starts_with('r')) text.front() = 'R';
  return text;
}

std::vector<std::int32_t> ranks_of(const OpenEnds& ends) {
  std::vector<std::int32_t> ranks;
  for (const OpenEnd& end : ends.ranks) ranks.push_back(end.world_rank);
  return ranks;
}

/// "Rank 1 did not reach MPI_Finalize: it was killed in MPI_Barrier, entered at 12.3 s."
std::string end_text(const HangReport& report, const OpenEnd& end) {
  const char* how = end.is_inside ? "was killed" : "ended";
  return fmt::format("Rank {} did not reach MPI_Finalize: it {} {}.", end.world_rank, how,
                     location_text(report, end));
}

/// Returns where the ranks' records stop, the earliest first: "rank 0 in MPI_Recv, entered at 3 s;
/// and 2 more". Names at most four ranks.
std::string locations_text(const HangReport& report, const OpenEnds& ends) {
  std::vector<OpenEnd> sorted = ends.ranks;
  std::ranges::stable_sort(sorted, {}, &OpenEnd::at_ns);
  const std::size_t shown = std::min(sorted.size(), kMaxCallSites);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i)
    parts.push_back(
        fmt::format("rank {} {}", sorted[i].world_rank, location_text(report, sorted[i])));
  if (shown < sorted.size()) parts.push_back(fmt::format("and {} more", sorted.size() - shown));
  return joined(parts, "; ");
}

/// Returns a sentence: which ranks waited for the ranks that ended first.
std::string awaiting_text(const OpenEnds& ends) {
  std::vector<std::int32_t> others;
  std::ranges::set_difference(ranks_of(ends), ends.first, std::back_inserter(others));
  const bool is_one = ends.first.size() == 1;
  return fmt::format(" {} waited for {}: {} ended first, unless a rank was killed while it waited.",
                     capital(ranks_text(others)), is_one ? "it" : "them",
                     is_one ? "it" : "one of them");
}

std::string text_without_first(const HangReport& report, const OpenEnds& ends) {
  const std::string who = capital(ranks_text(ranks_of(ends)));
  if (!ends.aborted.empty()) {
    if (ends.ranks.empty()) return "";
    return fmt::format("{} called MPI_Abort; {} did not reach MPI_Finalize.",
                       capital(ranks_text(ends.aborted)), ranks_text(ranks_of(ends)));
  }
  return fmt::format(
      "{} did not reach MPI_Finalize, and the traces do not show which ended first. Last recorded "
      "states: {}.",
      who, locations_text(report, ends));
}

}  // namespace

std::string open_ends_text(const HangReport& report, const OpenEnds& ends) {
  if (ends.ranks.empty()) return "";
  std::string text;
  switch (ends.evidence) {
    case FirstEnd::kNotShown:
      text = text_without_first(report, ends);
      break;
    case FirstEnd::kGone:
      for (const OpenEnd& end : ends.ranks)
        text += (text.empty() ? "" : " ") + end_text(report, end);
      text += " Processes of other ranks still exist.";
      break;
    case FirstEnd::kOnlyOne:
      text = end_text(report, ends.ranks.front());
      if (report.rank_ends.size() > 1 && ends.missing_count == 0)
        text += " All other ranks reached MPI_Finalize.";
      break;
    case FirstEnd::kLeftBehind:
    case FirstEnd::kAwaited:
      text = end_text(report, *ends.find(ends.first.front())) + awaiting_text(ends);
      break;
    case FirstEnd::kOneOf: {
      OpenEnds some = ends;
      std::erase_if(some.ranks, [&](const OpenEnd& end) {
        return !std::ranges::binary_search(ends.first, end.world_rank);
      });
      text = fmt::format(
                 "{} did not reach MPI_Finalize: they were killed in calls that could have "
                 "returned ({}).",
                 capital(ranks_text(ends.first)), locations_text(report, some)) +
             awaiting_text(ends);
      break;
    }
  }
  if (ends.missing_count != 0) {
    text += fmt::format(
        " The state of {} without a trace is unknown.",
        ends.missing_count == 1 ? "the rank" : fmt::format("the {} ranks", ends.missing_count));
  }
  return text;
}

const char* evidence_name(FirstEnd evidence) {
  static constexpr const char* kNames[] = {"not_shown",   "gone",    "only_one",
                                           "left_behind", "awaited", "one_of"};
  return kNames[static_cast<std::size_t>(evidence)];
}

}  // namespace megascope::answer
