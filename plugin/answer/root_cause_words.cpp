#include "core/base/text.h"
#include "core/base/text_table.h"
#include "plugin/answer/answer_view.h"
#include "plugin/answer/collective_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace megascope::answer {
namespace {

using detect::Cause;
using detect::RootCause;

constexpr std::size_t kHostColumns = 40;
constexpr std::size_t kReasonColumns = 120;

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }

std::string hosts_text(const RootCause& root_cause) {
  std::string text;
  for (std::size_t i = 0; i < root_cause.hosts.size() && i < 3; ++i)
    text += (i == 0 ? "" : ", ") + printable(root_cause.hosts[i], kHostColumns);
  return root_cause.hosts.size() > 3
             ? text + fmt::format(" and {} more", root_cause.hosts.size() - 3)
             : text;
}

/// Returns the hosts and groups of the ranks, as far as they are known: " (n1; dp 0, pp 3)".
std::string location_text(const RootCause& root_cause) {
  std::string text = hosts_text(root_cause);
  const bool is_one = root_cause.ranks.size() == 1;
  for (const auto& [name, index] : root_cause.groups) {
    if (is_one)
      text += (text.empty()         ? ""
               : text.back() == ';' ? " "
                                    : ", ") +
              name + " " + std::to_string(index);
  }
  return text.empty() ? text : " (" + text + ")";
}

std::string group_text(const RootCause& root_cause, const char* name) {
  const auto group = root_cause.groups.find(name);
  return group == root_cause.groups.end() ? std::string() : " " + std::to_string(group->second);
}

std::string whole_text(const detect::Whole& whole) {
  return whole.stage < 0 ? ranks_text(whole.ranks) : fmt::format("pipeline stage {}", whole.stage);
}

/// "its 7 peers", "the other ranks of pipeline stage 1".
std::string peers_text(const RootCause& root_cause) {
  if (root_cause.within.is_there() && root_cause.within.cause == Cause::kStageImbalance)
    return (root_cause.within.stage < 0 ? "the others of " : "the other ranks of ") +
           whole_text(root_cause.within);
  if (root_cause.within.is_there() && root_cause.within.cause == Cause::kSlowHost)
    return "the other ranks of its host";
  const std::int32_t peer_count = root_cause.evidence.peer_count;
  if (peer_count > 1) return fmt::format("its {} peers", peer_count);
  return peer_count == 1 ? "its peer" : "usual";
}

/// Returns a phrase if the ranks are, in addition, slow together with others (RootCause::within):
/// ", in addition to the extra work of pipeline stage 1".
std::string addition_text(const RootCause& root_cause) {
  if (!root_cause.within.is_there()) return {};
  if (root_cause.within.cause == Cause::kStageImbalance)
    return ", in addition to the extra work of " + whole_text(root_cause.within);
  if (root_cause.within.cause == Cause::kSlowHost)
    return ", in addition to the slowness of its host";
  return fmt::format(
      ", in addition to the work that differs between {}",
      root_cause.has_specified_groups ? "replicas" : ranks_text(root_cause.within.ranks));
}

std::string slow_compute_text(const RootCause& root_cause) {
  return fmt::format(
      "{}{} {} {:.2f} times as long as {}{}{}", ranks_text(root_cause.ranks),
      location_text(root_cause), root_cause.ranks.size() == 1 ? "computes" : "compute",
      root_cause.factor, peers_text(root_cause), addition_text(root_cause),
      root_cause.synchronised_in.empty() ? std::string()
                                         : " (they synchronise in " + root_cause.synchronised_in +
                                               ", which hides which of them is slow)");
}

std::string blocked_text(const RootCause& root_cause) {
  return fmt::format("{}{} was blocked ({}) {} MPI calls for {} more than the others",
                     ranks_text(root_cause.ranks), location_text(root_cause),
                     root_cause.is_in_mpi ? "stopped, or held up by its network or its files"
                                          : "asleep, stopped, or waiting for a file or a lock",
                     root_cause.is_in_mpi ? "in" : "between", duration(root_cause.blocked_ns));
}

std::string stage_imbalance_text(const RootCause& root_cause) {
  const std::string ranks = ranks_text(root_cause.ranks);
  if (!root_cause.has_specified_groups) {
    return fmt::format("{} {} {:.2f} times the work of the other ranks", ranks,
                       root_cause.ranks.size() == 1 ? "has" : "have", root_cause.factor);
  }
  return fmt::format(
      "pipeline stage{} ({}) has {:.2f} times the work of the others, in every replica",
      group_text(root_cause, "pp"), ranks, root_cause.factor);
}

std::string preempted_text(const RootCause& root_cause) {
  return fmt::format("{}{} waited {} for a core: {}", ranks_text(root_cause.ranks),
                     location_text(root_cause), duration(root_cause.core_wait_ns),
                     root_cause.core_wait_reason.empty()
                         ? "something else ran there"
                         : printable(root_cause.core_wait_reason, kReasonColumns));
}

std::string input_imbalance_text(const RootCause& root_cause) {
  const std::string ranks = ranks_text(root_cause.ranks);
  if (!root_cause.has_specified_groups) {
    return fmt::format(
        "the work of {} varies from step to step, up to {:.2f} times that of the others", ranks,
        root_cause.factor);
  }
  if (!root_cause.groups.contains("dp")) {
    return fmt::format(
        "work differs between replicas ({}) from step to step, by a factor of up to {:.2f}", ranks,
        root_cause.factor);
  }
  return fmt::format(
      "the work of replica{} ({}) varies from step to step, up to {:.2f} times that of the others",
      group_text(root_cause, "dp"), ranks, root_cause.factor);
}

/// "Rank 3 (n1) computes 1.24 times as long as its 7 peers".
std::string what_text(const RootCause& root_cause) {
  const std::string ranks = ranks_text(root_cause.ranks);
  const std::string location = location_text(root_cause);
  switch (root_cause.cause) {
    case Cause::kSlowCompute:
      return slow_compute_text(root_cause);
    case Cause::kSlowHost:
      return fmt::format(
          "host {} is slow: {} compute {:.2f} times as long as their peers on other hosts{}",
          hosts_text(root_cause), ranks, root_cause.factor, addition_text(root_cause));
    case Cause::kSlowLink:
      return fmt::format("messages between {}{} take {:.1f} times as long as others", ranks,
                         location, root_cause.factor);
    case Cause::kHostStall:
      return fmt::format(
          "{}{} pauses between operations: {:.2f} times {}", ranks, location, root_cause.factor,
          root_cause.evidence.peer_count > 0 ? "the time of its peers" : "its usual time");
    case Cause::kBlocked:
      return blocked_text(root_cause);
    case Cause::kStageImbalance:
      return stage_imbalance_text(root_cause);
    case Cause::kPreempted:
      return preempted_text(root_cause);
    case Cause::kInputImbalance:
      return input_imbalance_text(root_cause);
  }
  return ranks;
}

std::string capitalized(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// "since step 410", "in 13 of the 47 steps from step 12 to 58".
std::string when_text(const AnswerView& view, const RootCause& root_cause) {
  constexpr double kMaxSteps = 0.75;  ///< fraction of active steps from which on they are not
                                      ///< counted in the text
  const std::vector<std::int64_t>& numbers = view.step_numbers;
  const std::int64_t first = numbers.empty() ? 0 : numbers.front();
  const std::int64_t last = numbers.empty() ? view.detection.step_count - 1 : numbers.back();
  const auto end = std::upper_bound(numbers.begin(), numbers.end(), root_cause.last_step);
  const std::int64_t steps = numbers.empty()
                                 ? std::int64_t{root_cause.last_step} - root_cause.onset_step + 1
                                 : end - std::lower_bound(numbers.begin(), end,
                                                          root_cause.onset_step);
  const bool goes_on = root_cause.last_step >= last;
  const bool is_now_and_then = root_cause.active_steps < kMaxSteps * static_cast<double>(steps);
  const std::string some = is_now_and_then ? fmt::format("in {} of the {} steps ",
                                                         root_cause.active_steps, steps)
                                           : std::string();
  if (root_cause.onset_step <= first && goes_on)
    return is_now_and_then ? some + "of the run" : "in the whole run";
  if (goes_on) return some + fmt::format("since step {}", root_cause.onset_step);
  return some + fmt::format("from step {} to {}", root_cause.onset_step, root_cause.last_step);
}

/// Returns whether the replay, which contains all slow operations of the ranks in the active steps,
/// costs clearly more than work that takes `factor` times as long: the ranks also pause.
bool has_other_costs(const AnswerView& view, const RootCause& root_cause) {
  constexpr double kAllowed = 1.5;  // steps differ in length
  constexpr double kLittle = 0.005;
  const bool is_work = root_cause.cause == Cause::kSlowCompute ||
                       root_cause.cause == Cause::kSlowHost;
  if (!is_work || view.detection.step_count <= 0) return false;
  const double added = (root_cause.factor - 1.0) * root_cause.active_steps /
                       view.detection.step_count;
  return root_cause.cost_fraction > kAllowed * added / (1.0 + added) + kLittle;
}

}  // namespace

std::string root_cause_text(const AnswerView& view, const RootCause& root_cause) {
  const detect::Evidence& evidence = root_cause.evidence;
  std::string text = fmt::format(
      "{} {}; it costs {} of the run{}.", what_text(root_cause), when_text(view, root_cause),
      percent_text(root_cause.cost_fraction),
      has_other_costs(view, root_cause) ? ", including other slow operations of the same ranks"
                                        : "");
  if (evidence.observed_ns > 0) {  // of a link's first step nothing may be known
    text += fmt::format(" Strongest evidence, in step {} of rank {}: {} took {} instead of {}.",
                        evidence.step, evidence.world_rank, evidence.what,
                        duration(evidence.observed_ns), duration(evidence.expected_ns));
  }
  return capitalized(std::move(text));
}

std::string root_cause_title(const RootCause& root_cause) {
  return capitalized(what_text(root_cause));
}

}  // namespace megascope::answer
