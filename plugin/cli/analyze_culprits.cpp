#include "core/base/text.h"
#include "exporters/report/table.h"
#include "exporters/report/text_sections.h"
#include "plugin/cli/analyze_view.h"
#include "plugin/cli/collective_words.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cctype>

namespace megascope::cli {
namespace {

using detect::Cause;
using detect::Culprit;

constexpr std::size_t kHostColumns = 40;

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }

std::string hosts_text(const Culprit& culprit) {
  std::string text;
  for (std::size_t i = 0; i < culprit.hosts.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + report::printable(culprit.hosts[i], kHostColumns);
  return culprit.hosts.size() > 3 ? text + fmt::format(" and {} more", culprit.hosts.size() - 3) : text;
}

std::string group_text(const Culprit& culprit, const char* name) {
  const auto group = culprit.groups.find(name);
  return group == culprit.groups.end() ? std::string() : " " + std::to_string(group->second);
}

/// "Rank 3 (n1) computes 1.24 times as long as its 7 peers".
std::string what_text(const Culprit& culprit) {
  const std::string ranks = ranks_text(culprit.ranks);
  const std::string hosts = hosts_text(culprit);
  const std::int32_t peer_count = culprit.evidence.peer_count;
  const std::string peers = peer_count > 1    ? fmt::format("its {} peers", peer_count)
                            : peer_count == 1 ? std::string("its peer")
                                              : std::string("it does otherwise");
  switch (culprit.cause) {
    case Cause::kSlowCompute:
      return fmt::format("{} ({}) computes {:.2f} times as long as {}", ranks, hosts, culprit.factor, peers);
    case Cause::kSlowHost:
      return fmt::format("host {} is slow: {} compute {:.2f} times as long as their peers elsewhere", hosts, ranks, culprit.factor);
    case Cause::kSlowLink:
      return fmt::format("messages between {} ({}) take {:.1f} times as long as others", ranks, hosts, culprit.factor);
    case Cause::kHostStall:
      return fmt::format("{} ({}) pauses between operations: {:.2f} times the time of its peers", ranks, hosts, culprit.factor);
    case Cause::kStageImbalance:
      return fmt::format("pipeline stage{} ({}) has {:.2f} times the work of the others, in every replica", group_text(culprit, "pp"), ranks,
                         culprit.factor);
    case Cause::kInputImbalance:
      return fmt::format("the work of replica{} ({}) varies from step to step, up to {:.2f} times that of the others",
                         group_text(culprit, "dp"), ranks, culprit.factor);
  }
  return ranks;
}

std::string when_text(const Culprit& culprit, std::int32_t step_count) {
  const bool goes_on = culprit.last_step + 1 >= step_count;
  if (culprit.onset_step == 0 && goes_on) return "in the whole run";
  if (goes_on) return fmt::format("since step {}", culprit.onset_step);
  return fmt::format("from step {} to {}", culprit.onset_step, culprit.last_step);
}

}  // namespace

std::string culprit_text(const AnalyzeView& view, const Culprit& culprit) {
  std::string text = fmt::format("{} {}; it costs {} of the run. Seen best in step {} of rank {}: {} took {} instead of {}.",
                                 what_text(culprit), when_text(culprit, view.detection.step_count),
                                 report::percent_text(culprit.cost_fraction), culprit.evidence.step, culprit.evidence.world_rank,
                                 culprit.evidence.what, duration(culprit.evidence.observed_ns), duration(culprit.evidence.expected_ns));
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

nlohmann::ordered_json culprit_json(const Culprit& culprit) {
  nlohmann::ordered_json json = {{"kind", detect::name_of(culprit.cause)}, {"ranks", culprit.ranks}, {"hosts", culprit.hosts},
                                 {"groups", culprit.groups}, {"factor", culprit.factor}, {"onset_step", culprit.onset_step},
                                 {"last_step", culprit.last_step}, {"active_steps", culprit.active_steps},
                                 {"cost_fraction", culprit.cost_fraction}, {"confidence", culprit.confidence}};
  const detect::Evidence& evidence = culprit.evidence;
  json["evidence"] = {{"what", evidence.what}, {"rank", evidence.world_rank}, {"step", evidence.step},
                      {"begin_ns", evidence.begin_ns}, {"end_ns", evidence.end_ns}, {"observed_ns", evidence.observed_ns},
                      {"expected_ns", evidence.expected_ns}, {"peers", evidence.peer_count}};
  return json;
}

}  // namespace megascope::cli
