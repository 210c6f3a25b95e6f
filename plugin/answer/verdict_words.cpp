#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/answer/answer_view.h"
#include "plugin/answer/collective_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::answer {

using analysis::RankWaits;
using analysis::Unmatched;
using analysis::WaitKind;

namespace {

constexpr double
    kWorthReporting = 0.01;  ///< fraction of all time; the function of less waiting is not named
constexpr double kStandsOut = 2;  ///< times the mean share of a rank in all waits
constexpr std::size_t kHostColumns = 40;

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Returns the function in which ranks wait most, and the most frequent kind of these waits by
/// time: "MPI_Recv (late sender)".
std::string main_function(const AnswerView& view) {
  const auto most = std::ranges::max_element(
      view.waits.by_function, {}, [](const auto& entry) { return entry.second.wait_ns; });
  if (most == view.waits.by_function.end()) return "?";
  const auto& kinds = view.waits.kinds_of_function.at(most->first);
  const auto kind = std::ranges::max_element(kinds, {}, &analysis::WaitSum::wait_ns);
  return fmt::format("{} ({})", view.function(most->first),
                     kind_name(static_cast<WaitKind>(kind - kinds.begin())));
}

double median_outside_ns(const AnswerView& view) {
  std::vector<double> times;
  for (const RankWaits& rank : view.waits.ranks)
    times.push_back(static_cast<double>(rank.wall_ns - std::min(rank.mpi_ns, rank.wall_ns)));
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

std::string main_cause_text(const AnswerView& view, const RankWaits& rank) {
  const auto whole = static_cast<double>(view.waits.suffered_ns);
  const std::string& host = view.host(rank.world_rank);
  const std::string location = host.empty() ? std::string()
                                            : " (" + printable(host, kHostColumns) + ")";
  std::string text = fmt::format("Rank {}{} causes {} of it, {}", rank.world_rank, location,
                                 percent_text(share(rank.caused_ns, whole)),
                                 duration(rank.caused_ns));
  const double median_ns = median_outside_ns(view);
  const auto outside_ns = static_cast<double>(rank.wall_ns - std::min(rank.mpi_ns, rank.wall_ns));
  if (median_ns > 0 && outside_ns > 1.01 * median_ns) {
    text += fmt::format("; it spends {:.2f} times as long outside of MPI as the median rank",
                        outside_ns / median_ns);
  }
  return text + ".";
}

}  // namespace

const char* kind_name(WaitKind kind) {
  static constexpr const char* kNames[analysis::kWaitKindCount] = {
      "none",         "late sender",    "late receiver", "wait at barrier",         "wait at NxN",
      "early reduce", "late broadcast", "wait at scan",  "wait at other collective"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

/// Returns why the other ends of messages were not found.
const char* reason_text(Unmatched why) {
  static constexpr const char* kTexts[analysis::kUnmatchedCount] = {
      "the other rank has no trace", "records were lost, or recording was off",
      "the other rank's trace ends earlier", "the program made no matching call"};
  return kTexts[static_cast<std::size_t>(why)];
}

}  // namespace

bool has_finding(const AnswerView& view) {
  return view.matching.mismatch_count != 0 || !view.detection.root_causes.empty();
}

bool has_sentence(const AnswerView& view, std::size_t index) {
  return index < kMaxCauseSentences &&
         view.detection.root_causes[index].cost_fraction >= kMinSentenceCost;
}

namespace {

/// Returns the sentence of the most expensive root cause and a space; empty if it has none.
std::string first_sentence(const AnswerView& view) {
  if (view.detection.root_causes.empty() || !has_sentence(view, 0)) return {};
  return root_cause_text(view, view.detection.root_causes.front()) + " ";
}

}  // namespace

std::string verdict_text(const AnswerView& view) {
  const analysis::WaitAnalysis& waits = view.waits;
  const std::string root_cause = first_sentence(view);
  if (!view.matching.mismatches.empty()) {
    return "Collectives do not match: " +
           mismatch_text(view.tables.comms, view.matching.mismatches.front()) + "." +
           (root_cause.empty() ? "" : " " + root_cause.substr(0, root_cause.size() - 1));
  }
  if (view.source.world_size() < 2) return "The run has one rank, so no rank waits for another.";
  if (view.matching.message_count + view.matching.collective_count == 0) {
    return "No message and no collective was matched. Wait states are therefore unknown.";
  }
  const double waited = share(static_cast<double>(waits.suffered_ns),
                              static_cast<double>(waits.wall_ns));
  // Timelines of other tools seldom show where ranks wait: most of it is between operations.
  if (view.has_operations && !root_cause.empty() &&
      waited < view.detection.root_causes.front().cost_fraction)
    return root_cause.substr(0, root_cause.size() - 1);
  if (waited < kWorthReporting) {
    return root_cause +
           fmt::format("Ranks hardly wait for each other: {} of their time.", percent_text(waited));
  }
  std::string text = root_cause +
                     fmt::format(
                         "Ranks wait for each other {} of their time, {} in all, mostly in {}. ",
                         percent_text(waited), duration(static_cast<double>(waits.suffered_ns)),
                         main_function(view));
  const auto first = std::ranges::max_element(waits.ranks, {}, &RankWaits::caused_ns);
  const double fair = 1 / static_cast<double>(waits.ranks.size());
  if (share(first->caused_ns, static_cast<double>(waits.suffered_ns)) <
      std::min(kStandsOut * fair, 0.5 * (1 + fair))) {
    return view.detection.root_causes.empty() ? text + "No rank stands out as the cause."
                                              : text.substr(0, text.size() - 1);
  }
  const auto names_first = [first](const detect::RootCause& one) {
    return std::ranges::binary_search(one.ranks, first->world_rank);
  };
  const bool is_other = !view.detection.root_causes.empty() &&
                        std::ranges::none_of(view.detection.root_causes, names_first);
  if (is_other) return text.substr(0, text.size() - 1);  // it only passes on what it waited itself
  return text + main_cause_text(view, *first);
}

namespace {

void add_unmatched(const char* what, const std::uint64_t* counts,
                   std::vector<std::string>& limits) {
  for (std::size_t i = 0; i < analysis::kUnmatchedCount; ++i) {
    if (counts[i] == 0) continue;
    limits.push_back(fmt::format("{} unmatched {}: {}.", human_count(counts[i]), what,
                                 reason_text(static_cast<Unmatched>(i))));
  }
}

void add_rank_limits(const AnswerView& view, std::vector<std::string>& limits) {
  std::vector<std::int32_t> missing;
  std::vector<std::int32_t> lossy;
  std::vector<std::int32_t> ended;
  for (std::int32_t rank = 0; rank < view.source.world_size(); ++rank) {
    const analysis::RankState& state = view.matching.states.of(rank);
    if (!state.has_trace)
      missing.push_back(rank);
    else if (state.has_losses)
      lossy.push_back(rank);
    else if (!state.has_ended)
      ended.push_back(rank);
  }
  if (!missing.empty())
    limits.push_back("No trace of " + ranks_text(missing) +
                     " is available. Waits for ranks without a trace are not detected.");
  if (!lossy.empty())
    limits.push_back("Calls of " + ranks_text(lossy) + " were lost or not recorded.");
  if (!ended.empty() && !view.has_operations)
    limits.push_back("The trace of " + ranks_text(ended) + " ends before MPI_Finalize.");
}

void add_clock_limits(const AnswerView& view, std::vector<std::string>& limits) {
  if (view.causality.violations_before != 0) {
    limits.push_back(
        fmt::format("Clocks: {} messages and collectives were in an impossible order, by up to {}. "
                    "Times were corrected by up to {}; {} are still in an impossible order.",
                    human_count(view.causality.violations_before),
                    duration(static_cast<double>(view.causality.worst_before_ns)),
                    duration(static_cast<double>(view.causality.max_moved_ns)),
                    human_count(view.matching.violation_count)));
  }
  const analysis::Anchors& anchors = view.causality.anchors;
  const bool is_bounded = std::ranges::any_of(anchors.errors_ns,
                                              [](double error_ns) { return error_ns >= 0.0; });
  if (is_bounded && !view.clock_errors_ns.empty()) {
    const std::string how = anchors.is_any() ? "They were corrected by up to " +
                                                   duration(anchors.max_moved_ns) + " to agree with"
                                             : "They agree with";
    limits.push_back(
        fmt::format("Some clocks were never compared with the others. {} the program's messages "
                    "and collectives. Their error is at most {}.",
                    how, duration(view.clock_errors_ns.back())));
  }
  if (view.clock_errors_ns.empty()) {
    limits.emplace_back(
        "Some clocks were never compared with the others. Waits between their ranks are only as "
        "accurate as the system clocks of the nodes, and links are not judged.");
  }
}

void add_matching_limits(const AnswerView& view, std::vector<std::string>& limits) {
  add_unmatched("sends", view.matching.unmatched_sends, limits);
  add_unmatched("receives", view.matching.unmatched_receives, limits);
  add_unmatched("collectives", view.matching.partial_collectives, limits);
  if (view.matching.unsure_collectives != 0) {
    limits.push_back(
        fmt::format("{} collective calls were not matched: the creation of their communicator was "
                    "not recorded, or it contains ranks of another world.",
                    human_count(view.matching.unsure_collectives)));
  }
  if (view.matching.greater_than_sent != 0) {
    limits.push_back(
        fmt::format("{} received messages are larger than the sent messages that they were matched "
                    "with: the matching may be wrong.",
                    human_count(view.matching.greater_than_sent)));
  }
}

}  // namespace

std::vector<std::string> limits_of(const AnswerView& view) {
  std::vector<std::string> limits;
  add_rank_limits(view, limits);
  add_clock_limits(view, limits);
  limits.insert(limits.end(), view.detection.limitations.begin(), view.detection.limitations.end());
  add_matching_limits(view, limits);
  return limits;
}

}  // namespace megascope::answer
