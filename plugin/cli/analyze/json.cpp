#include "exporters/report/shared_cores_json.h"
#include "plugin/answer/collective_words.h"
#include "plugin/cli/analyze/output.h"
#include "plugin/cli/run_directory/run_ends.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace megascope::cli {
namespace {

using answer::comm_name;
using answer::object_name;

using Json = nlohmann::ordered_json;

double seconds(double time_ns) { return time_ns / 1e9; }
double seconds(std::uint64_t time_ns) { return static_cast<double>(time_ns) / 1e9; }

constexpr const char* kReasons[analysis::kUnmatchedCount] = {"no_trace", "lost", "ended",
                                                             "no_partner"};

Json reasons_json(const std::uint64_t* counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < analysis::kUnmatchedCount; ++i) json[kReasons[i]] = counts[i];
  return json;
}

Json clock_json(const AnalyzeView& view) {
  std::set<std::string> domains;
  for (const std::int32_t rank : view.source.world_ranks())
    domains.insert(view.source.process(rank).info.clock.domain);
  const auto quantile = [&](double part) {
    const auto& errors = view.clock_errors_ns;
    return errors.empty() ? Json(nullptr)
                          : Json(errors[static_cast<std::size_t>(
                                part * static_cast<double>(errors.size() - 1) + 0.5)]);
  };
  return {{"domains", domains.size()},
          {"p50_ns", quantile(0.5)},
          {"p99_ns", quantile(0.99)},
          {"violations_before", view.causality.violations_before},
          {"violations", view.matching.violation_count},
          {"moved_ns_max", view.causality.max_moved_ns},
          {"anchored_ns_max", view.causality.anchors.max_moved_ns}};
}

Json mismatches_json(const AnalyzeView& view) {
  Json all = Json::array();
  for (const analysis::Mismatch& mismatch : view.matching.mismatches) {
    Json participants = Json::array();
    for (const analysis::Mismatch::Participant& participant : mismatch.participants) {
      participants.push_back({{"ranks", participant.world_ranks},
                              {"function", std::string(participant.shape.function)},
                              {"root", participant.shape.root}});
    }
    all.push_back({{"communicator", comm_name(view.tables.comms, mismatch.comm)},
                   {"what", answer::what_name(mismatch.what)},
                   {"sequence", mismatch.sequence},
                   {"parties", std::move(participants)},
                   {"text", answer::mismatch_text(view.tables.comms, mismatch)}});
  }
  return all;
}

Json matching_json(const AnalyzeView& view) {
  const analysis::Matching& matching = view.matching;
  return {{"calls", matching.call_count},
          {"messages", matching.message_count},
          {"collectives", matching.collective_count},
          {"unmatched", matching.unmatched()},
          {"unmatched_sends", reasons_json(matching.unmatched_sends)},
          {"unmatched_receives", reasons_json(matching.unmatched_receives)},
          {"partial_collectives", reasons_json(matching.partial_collectives)},
          {"mismatches", mismatches_json(view)}};
}

Json waits_json(const AnalyzeView& view) {
  Json json = {{"total_s", seconds(view.waits.suffered_ns)},
               {"wall_s", seconds(view.waits.wall_ns)}};
  json["kinds"] = Json::object();
  for (std::size_t kind = 1; kind < analysis::kWaitKindCount; ++kind) {
    const analysis::WaitSum& sum = view.waits.by_kind[kind];
    json["kinds"][answer::kind_name(static_cast<analysis::WaitKind>(kind))] = {
        {"count", sum.count}, {"s", seconds(sum.wait_ns)}};
  }
  json["functions"] = Json::array();
  for (const auto& [function, sum] : view.waits.by_function) {
    json["functions"].push_back(
        {{"function", view.function(function)}, {"count", sum.count}, {"s", seconds(sum.wait_ns)}});
  }
  json["communicators"] = Json::array();
  for (const auto& [comm, sum] : view.waits.by_comm) {
    json["communicators"].push_back({{"name", object_name(view.tables.comms, comm)},
                                     {"count", sum.count},
                                     {"s", seconds(sum.wait_ns)}});
  }
  json["collectives"] = Json::array();
  for (const auto& [key, cost] : view.waits.collectives) {
    json["collectives"].push_back({{"function", view.function(key.second)},
                                   {"communicator", object_name(view.tables.comms, key.first)},
                                   {"count", cost.count},
                                   {"wire_s", seconds(cost.wire_ns)},
                                   {"skew_s", seconds(cost.skew_ns)}});
  }
  return json;
}

Json path_json(const AnalyzeView& view) {
  const analysis::CriticalPath& path = view.waits.path;
  Json functions = Json::object();
  for (const auto& [function, time_ns] : path.by_function_ns)
    functions[view.function(function)] = seconds(time_ns);
  return {{"s", seconds(path.length_ns)},
          {"outside_s", seconds(path.outside_ns)},
          {"switches", path.switch_count},
          {"functions_s", std::move(functions)}};
}

Json cpu_sums_json(const cpu::CpuSums& sums, bool has_wait) {
  return {{"wall_s", seconds(sums.wall_ns)},
          {"cpu_s", seconds(sums.cpu_ns)},
          {"core_wait_s", has_wait ? Json(seconds(sums.wait_ns)) : Json(nullptr)},
          {"involuntary_switches", sums.switches}};
}

/// null: the thread has no readings. outside and inside MPI are null if they were not measured
/// separately.
Json cpu_json(const AnalyzeView& view, std::int32_t world_rank) {
  const auto rank = std::ranges::find(view.cpu, world_rank, &cpu::RankCpu::world_rank);
  if (rank == view.cpu.end() || !rank->has_readings()) return nullptr;
  cpu::CpuSums all = rank->whole.outside;
  all.add(rank->whole.inside);
  Json json = cpu_sums_json(all, rank->has_wait);
  const bool is_split = rank->whole.inside.wall_ns > 0;
  json["outside"] = is_split ? cpu_sums_json(rank->whole.outside, rank->has_wait) : Json(nullptr);
  json["inside"] = is_split ? cpu_sums_json(rank->whole.inside, rank->has_wait) : Json(nullptr);
  json["readings"] = rank->reading_count;
  json["measured_share"] = rank->measured_share;
  json["interpolated_share"] = rank->interpolated_share;
  return json;
}

Json ranks_json(const AnalyzeView& view) {
  Json ranks = Json::array();
  for (const analysis::RankWaits& rank : view.waits.ranks) {
    ranks.push_back({{"rank", rank.world_rank},
                     {"host", view.host(rank.world_rank)},
                     {"wall_s", seconds(rank.wall_ns)},
                     {"mpi_s", seconds(rank.mpi_ns)},
                     {"suffered_s", seconds(rank.suffered_ns)},
                     {"caused_s", seconds(rank.caused_ns)},
                     {"critical_path_s", seconds(rank.path_ns)},
                     {"cpu", cpu_json(view, rank.world_rank)}});
  }
  return ranks;
}

Json import_json(const ImportFacts& import) {
  if (!import.are_there()) return nullptr;
  return {{"format", import.format},
          {"events", import.events},
          {"repairs", import.repairs},
          {"notes", import.notes}};
}

}  // namespace

namespace {

/// The active steps as pairs: first and last of each run of consecutive steps.
Json active_json(const std::vector<std::int64_t>& steps) {
  Json ranges = Json::array();
  for (const std::int64_t step : steps) {
    if (!ranges.empty() && ranges.back()[1] == step - 1)
      ranges.back()[1] = step;
    else
      ranges.push_back({step, step});
  }
  return ranges;
}

}  // namespace

nlohmann::ordered_json root_cause_json(const detect::RootCause& root_cause) {
  nlohmann::ordered_json json = {{"kind", detect::name_of(root_cause.cause)},
                                 {"ranks", root_cause.ranks},
                                 {"hosts", root_cause.hosts},
                                 {"groups", root_cause.groups},
                                 {"factor", root_cause.factor},
                                 {"onset_step", root_cause.onset_step},
                                 {"last_step", root_cause.last_step},
                                 {"active_steps", root_cause.active_steps},
                                 {"active", active_json(root_cause.steps)},
                                 {"cost_fraction", root_cause.cost_fraction},
                                 {"confidence", root_cause.confidence}};
  const detect::Evidence& evidence = root_cause.evidence;
  json["evidence"] = {{"what", evidence.what},
                      {"rank", evidence.world_rank},
                      {"step", evidence.step},
                      {"begin_ns", evidence.begin_ns},
                      {"end_ns", evidence.end_ns},
                      {"observed_ns", evidence.observed_ns},
                      {"expected_ns", evidence.expected_ns},
                      {"peers", evidence.peer_count}};
  if (root_cause.within.is_there())
    json["within"] = {{"kind", detect::name_of(root_cause.within.cause)},
                      {"ranks", root_cause.within.ranks}};
  if (root_cause.cause == detect::Cause::kBlocked)
    json["blocked_s"] = seconds(root_cause.blocked_ns);
  if (root_cause.cause == detect::Cause::kPreempted) {
    json["core_wait_s"] = seconds(root_cause.core_wait_ns);
    json["core_wait_reason"] = root_cause.core_wait_reason;
  }
  return json;
}

std::string analyze_json(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import) {
  Json json;
  json["verdict"] = answer::verdict_text(view);
  json["open_ends"] = open_ends_json(ends);
  json["slowdown"] = what_if.is_there() ? Json(what_if.slowdown) : Json(nullptr);
  json["loss"] = loss_json(what_if);
  json["steps"] = view.detection.step_count == 0 ? Json(nullptr) : Json(view.detection.step_count);
  json["steps_are"] = view.detection.step_count == 0
                          ? Json(nullptr)
                          : Json(view.are_steps_annotated ? "told" : "inferred");
  json["clock"] = clock_json(view);
  json["matching"] = matching_json(view);
  json["culprits"] = Json::array();
  for (std::size_t i = 0; i < view.detection.root_causes.size(); ++i) {
    json["culprits"].push_back(root_cause_json(view.detection.root_causes[i]));
    json["culprits"].back()["gain"] = i < what_if.asked.size() ? Json(what_if.asked[i].gain)
                                                               : Json(nullptr);
    json["culprits"].back()["alone"] = i < what_if.asked.size() ? Json(what_if.asked[i].alone)
                                                                : Json(nullptr);
  }
  json["minor_findings"] = Json::array();
  for (const detect::RootCause& root_cause : view.minor)
    json["minor_findings"].push_back(root_cause_json(root_cause));
  json["advice"] = advice_json(view);
  json["what_if"] = what_if_json(what_if);
  json["waits"] = waits_json(view);
  json["critical_path"] = path_json(view);
  json["per_rank"] = ranks_json(view);
  json["shared_cores"] = report::shared_cores_json(view.shared_cores);
  json["limits"] = answer::limits_of(view);
  json["import"] = import_json(import);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace megascope::cli
