#include "core/base/text.h"
#include "exporters/report/call_sites.h"
#include "exporters/report/cpu_rows.h"
#include "exporters/report/run_report.h"
#include "exporters/report/shared_cores_json.h"
#include "exporters/report/shares.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace megascope::report {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::uint64_t time_ns) { return static_cast<double>(time_ns) / 1e9; }

const char* end_state_name(EndState state) {
  static constexpr const char* kNames[] = {"running", "finalized", "aborted", "recovered"};
  return kNames[static_cast<std::size_t>(state)];
}

/// ISO 8601 with milliseconds, UTC; null if unknown.
Json iso_time(std::int64_t realtime_ns) {
  const std::time_t whole_seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm utc{};
  if (realtime_ns <= 0 || gmtime_r(&whole_seconds, &utc) == nullptr) return nullptr;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     realtime_ns / 1'000'000 % 1000);
}

void add_totals(Json& json, const CallTotals& totals) {
  json["calls"] = totals.calls;
  json["bytes"] = totals.bytes_sent + totals.bytes_received;
  json["time_s"] = seconds(totals.time);
  json["max_time_s"] = seconds(totals.max_time);
  json["bytes_sent"] = totals.bytes_sent;
  json["bytes_received"] = totals.bytes_received;
}

Json functions(const RunReport& report) {
  Json all = Json::object();
  for (const FunctionRow& row : report.functions) add_totals(all[row.name], row.totals);
  return all;
}

Json communicators(const RunReport& report) {
  const std::vector<const CommRow*> differing = comms_that_differ(report);
  Json all = Json::array();
  for (const CommRow& row : report.comms) {
    Json json = {{"name", row.name}, {"ranks", row.size}};
    if (row.kind == CommRowKind::kRemote) json["remote_world"] = true;
    if (row.kind == CommRowKind::kComm) json["id"] = fmt::format("{:016x}", row.global_name);
    add_totals(json, row.totals);
    json["collectives_differ"] = std::find(differing.begin(), differing.end(), &row) !=
                                 differing.end();
    all.push_back(std::move(json));
  }
  return all;
}

Json regions(const RunReport& report) {
  Json all = Json::object();
  for (const RegionRow& row : report.regions) {
    all[row.name] = {{"count", row.totals.calls},
                     {"time_s", seconds(row.totals.time)},
                     {"max_time_s", seconds(row.totals.max_time)}};
  }
  return all;
}

Json files(const RunReport& report) {
  Json all = Json::array();
  for (const FileRow& row : report.files) {
    all.push_back({{"name", row.name},
                   {"ranks", row.totals.ranks},
                   {"opens", row.totals.opens},
                   {"reads", row.totals.reads},
                   {"writes", row.totals.writes},
                   {"bytes", row.totals.bytes_read + row.totals.bytes_written},
                   {"time_s", seconds(row.totals.time)},
                   {"bytes_read", row.totals.bytes_read},
                   {"bytes_written", row.totals.bytes_written}});
  }
  return all;
}

Json call_sites(const RunReport& report) {
  Json all = Json::array();
  for (const CallSiteRow& row : report.call_sites) {
    const CallSiteDefinition& site = row.site;
    all.push_back({{"function", row.function},
                   {"place", call_site_text(row)},
                   {"caller", site.function},
                   {"file", site.file},
                   {"line", site.line != 0 ? Json(site.line) : Json(nullptr)},
                   {"module", site.module},
                   {"offset", fmt::format("{:#x}", site.offset)},
                   {"calls", row.totals.calls},
                   {"time_s", seconds(row.totals.time)}});
  }
  return all;
}

/// {"job_id": "1234", ...}: Slurm's variables without prefix, in lower case.
Json launcher_facts(const RunReport& report) {
  Json all = Json::object();
  for (const LauncherFact& fact : report.run.launcher) {
    if (!fact.name.starts_with(kLauncherFactPrefix)) continue;
    all[lower_case(fact.name.substr(sizeof kLauncherFactPrefix - 1))] = fact.value;
  }
  return all;
}

/// null: not read, or not reported by the kernel.
Json cpu_seconds(const RankRow& rank, std::uint64_t time_ns, bool is_known) {
  return rank.cpu.readings != 0 && is_known ? Json(seconds(time_ns)) : Json(nullptr);
}

Json cpus_json(const NodeCpus& cpus) {
  if (!cpus.is_known()) return nullptr;
  return {{"cores", cpus.cores},
          {"processors", cpus.processors},
          {"node_cores", cpus.node_cores},
          {"node_processors", cpus.node_processors},
          {"granted_processors", cpus.granted_milli == 0 ? Json(nullptr) : Json(cpus.granted())}};
}

Json per_rank(const RunReport& report) {
  Json all = Json::array();
  for (const RankRow& rank : report.ranks) {
    all.push_back(
        {{"rank", rank.world_rank},
         {"host", report.nodes[rank.node]},
         {"step_node", rank.step_node < 0 ? Json(nullptr) : Json(rank.step_node)},
         {"mpi_time_s", seconds(rank.mpi_time_ns)},
         {"calls", rank.calls},
         {"startup_s", seconds(rank.startup_ns)},
         {"mpi_share", mpi_share(rank)},
         {"wall_s", seconds(rank.wall_ns)},
         {"threads", rank.thread_count},
         {"pid", rank.pid},
         {"overhead_s", seconds(rank.overhead_ns)},
         {"trace_bytes", rank.trace_bytes},
         {"end_state", end_state_name(rank.end_state)},
         {"solo", rank.is_standalone},
         {"cpu_s", cpu_seconds(rank, rank.cpu.cpu_ns, true)},
         {"core_wait_s", cpu_seconds(rank, rank.cpu.wait_ns, rank.cpu.has_wait)},
         {"involuntary_switches", rank.cpu.readings != 0 ? Json(rank.cpu.switches) : Json(nullptr)},
         {"cpu_readings", rank.cpu.readings},
         {"cpus", cpus_json(rank.cpus)}});
  }
  return all;
}

Json end_states(const RunReport& report) {
  Json all = {{"running", 0}, {"finalized", 0}, {"aborted", 0}, {"recovered", 0}};
  for (const RankRow& rank : report.ranks) {
    Json& count = all[end_state_name(rank.end_state)];
    count = count.get<int>() + 1;
  }
  return all;
}

Json open_ends(const RunReport& report) {
  if (report.conclusion.open_ends.text.empty()) return nullptr;
  return {{"first", report.conclusion.open_ends.first},
          {"evidence", report.conclusion.open_ends.evidence},
          {"text", report.conclusion.open_ends.text}};
}

Json histogram(const std::array<SizeTotals, kSizeClassCount>& sizes, const char* what) {
  Json all = Json::array();
  for (unsigned i = 0; i < sizes.size(); ++i) {
    if (sizes[i].messages == 0) continue;
    const std::uint64_t most = i == 0 ? 0 : size_class_floor(i) + (size_class_floor(i) - 1);
    all.push_back({{"from_bytes", size_class_floor(i)},
                   {"to_bytes", most},
                   {what, sizes[i].messages},
                   {"bytes", sizes[i].bytes}});
  }
  return all;
}

Json matrix(const RunReport& report) {
  Json rows = Json::array();
  for (const PairRow& pair : report.pairs) {
    rows.push_back({{"source", pair.source},
                    {"destination", pair.destination},
                    {"messages", pair.messages},
                    {"bytes", pair.bytes}});
  }
  return {{"pairs", report.pair_count},
          {"messages", report.messages.messages},
          {"bytes", report.messages.bytes},
          {"heaviest", std::move(rows)}};
}

Json waits(const RunReport& report) {
  Json rows = Json::array();
  for (const WaitRow& row : report.waits) {
    rows.push_back({{"rank", row.world_rank},
                    {"function", row.function},
                    {"communicator", row.comm},
                    {"calls", row.calls},
                    {"time_s", seconds(row.time_ns)}});
  }
  return rows;
}

Json pending(const RunReport& report) {
  Json rows = Json::array();
  for (const PendingRow& row : report.pending) {
    rows.push_back({{"rank", row.world_rank},
                    {"function", row.function},
                    {"communicator", row.comm},
                    {"peer", row.peer >= 0            ? Json(row.peer)
                             : row.peer == kAnySource ? Json("any")
                                                      : Json(nullptr)},
                    {"since_s", seconds(row.since_ns)},
                    {"time_s", seconds(row.time_ns)}});
  }
  return {{"count", report.pending_count}, {"longest", std::move(rows)}};
}

Json losses(const RunReport& report) {
  Json all = Json::object();
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    all[std::string(kLossTexts[i].key)] = report.losses[i];
  }
  return all;
}

Json exports(const RunReport& report) {
  Json all = Json::array();
  for (const ExportRow& row : report.conclusion.exports) {
    all.push_back({{"format", row.format},
                   {"path", row.path},
                   {"records", row.records},
                   {"bytes", row.bytes}});
  }
  return all;
}

Json interfaces_of(std::uint8_t interfaces) {
  Json names = Json::array();
  if ((interfaces & kInterfaceC) != 0) names.push_back("c");
  if ((interfaces & kInterfaceFortran) != 0) names.push_back("fortran");
  if ((interfaces & kInterfaceFortran08) != 0) names.push_back("fortran08");
  return names;
}

void add_run(const RunReport& report, Json& json) {
  json["version"] = report.run.version;
  json["run_id"] = report.run.run_id;
  json["job"] = report.run.job;
  json["slurm"] = launcher_facts(report);
  json["program"] = report.run.programs.empty() ? std::string() : report.run.programs.front();
  json["programs"] = report.run.programs;
  json["mpi_library"] = report.run.mpi_library;
  json["interfaces"] = interfaces_of(report.run.interfaces);
  json["unrecorded_procedures"] = report.run.unrecorded;
  json["started"] = iso_time(report.start_realtime_ns);
  if (!report.run.parent_world.empty()) json["started_by"] = report.conclusion.started_by;
  json["ranks"] = report.world_size;
  json["nodes"] = report.nodes;
  if (report.conclusion.clocks.domains != 0) {
    json["clock"] = {{"domains", report.conclusion.clocks.domains},
                     {"unmeasured", report.conclusion.clocks.unmeasured},
                     {"error_ns", report.conclusion.clocks.error_ns}};
  }
  if (report.conclusion.step_exchange.steps != 0) {
    const StepExchangeRow& exchange = report.conclusion.step_exchange;
    json["step_talk"] = {{"steps", exchange.steps},
                         {"skipped", exchange.skipped},
                         {"step_s", seconds(exchange.step_ns)},
                         {"own_s", seconds(exchange.own_ns)},
                         {"wait_s", seconds(exchange.wait_ns)}};
  }
  json["missing_ranks"] = missing_ranks(report);
}

void add_times(const RunReport& report, Json& json) {
  const TimeShares shares = time_shares(report);
  std::uint64_t max_overhead_ns = 0;
  for (const RankRow& rank : report.ranks)
    max_overhead_ns = std::max(max_overhead_ns, rank.overhead_ns);
  json["wall_s"] = seconds(shares.wall_ns);
  json["startup_s"] = seconds(shares.startup_ns);
  json["mpi_calls"] = call_count(report);
  json["mpi_share"] = {{"run", shares.run},
                       {"min", shares.by_share.empty() ? 0.0 : mpi_share(*shares.by_share.front())},
                       {"median", shares.median},
                       {"max", shares.by_share.empty() ? 0.0 : mpi_share(*shares.by_share.back())}};
  json["imbalance"] = shares.imbalance;
  json["verdict"] = report.conclusion.verdict.empty() ? first_verdict(report, shares)
                                                      : report.conclusion.verdict;
  json["is_analyzed"] = !report.conclusion.verdict.empty();
  json["overhead_s"] = seconds(max_overhead_ns);
}

void add_tables(const RunReport& report, Json& json) {
  json["functions"] = functions(report);
  json["communicators"] = communicators(report);
  json["regions"] = regions(report);
  json["files"] = files(report);
  json["places"] = call_sites(report);
  json["per_rank"] = per_rank(report);
  json["shared_cores"] = shared_cores_json(shared_cores_of(report));
  json["end_states"] = end_states(report);
  json["open_ends"] = open_ends(report);
  json["message_sizes"] = histogram(report.message_sizes, "messages");
  json["collective_sizes"] = histogram(report.collective_sizes, "calls");
  json["matrix"] = matrix(report);
  json["waits"] = waits(report);
  json["pending"] = pending(report);
}

Json object_of(const RunReport& report) {
  Json json;
  add_run(report, json);
  add_times(report, json);
  add_tables(report, json);
  json["losses"] = losses(report);
  json["covers_all_calls"] = report.covers_all_calls;
  json["notes"] = report.notes;
  json["exports"] = exports(report);
  for (const RunReport& spawned : report.spawned) json["spawned"].push_back(object_of(spawned));
  return json;
}

}  // namespace

std::string to_json(const RunReport& report) {
  return object_of(report).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace megascope::report
