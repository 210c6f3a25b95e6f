#include "exporters/report/summary.h"

#include "core/base/text.h"
#include "core/record/event_view.h"
#include "core/record/mpi_function.h"
#include "core/record/user_regions.h"
#include "exporters/report/call_sites.h"
#include "exporters/report/cpu_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace megascope::report {
namespace {

constexpr char kStepNodeFact[] = "SLURM_NODEID";
constexpr std::size_t kMaxNameBytes = 200;
constexpr std::size_t kMaxCommandBytes = 1024;
constexpr std::uint64_t kCallsPerProgress = 1 << 16;

std::string cut(const std::string& text, std::size_t limit = kMaxNameBytes) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

/// Truncates a path at the front, because its end is the most significant part.
std::string cut_path(const std::string& path) {
  return path.size() <= kMaxNameBytes ? path : "..." + path.substr(path.size() - kMaxNameBytes + 3);
}

std::uint64_t scaled(std::uint64_t value, double factor) {
  return factor == 1.0 ? value : static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

bool is_collective(RegionRole role) {
  return role >= RegionRole::kCollBarrier && role <= RegionRole::kCollOther;
}
bool may_wait(RegionRole role) { return role == RegionRole::kPointToPoint || is_collective(role); }

/// Whether a trace with these losses has a record of every call.
bool has_all_calls(const Losses& losses) {
  constexpr LossCause kMissingCalls[] = {LossCause::kBufferFull, LossCause::kStorage,
                                         LossCause::kNoBuffer, LossCause::kForeign,
                                         LossCause::kDamaged};
  return std::all_of(std::begin(kMissingCalls), std::end(kMissingCalls),
                     [&](LossCause cause) { return losses[static_cast<std::size_t>(cause)] == 0; });
}

std::string comm_name(const ProcessDefinitions& definitions, CommId id) {
  if (id == kNoComm) return {};
  const CommDefinition* comm = id == kMixedComms ? nullptr : definitions.comm(id);
  return comm == nullptr ? kOthersName : cut(comm->name);
}

std::string function_name(const ProcessDefinitions& definitions, RegionId id) {
  const RegionDefinition* region = definitions.region(id);
  return region == nullptr ? kOthersName : cut(region->name);
}

/// The totals of one rank, by the rows of reports.
class Summary {
 public:
  Summary(const ProcessDefinitions& definitions, RunReport& report)
      : definitions_(definitions), report_(report) {}

  void add(const ProfileKey& key, const CallTotals& totals) {
    const RegionDefinition* region = definitions_.region(key.region);
    const std::string function = function_name(definitions_, key.region);
    const RegionRole role = region == nullptr ? RegionRole::kUnknown : region->role;
    FunctionRow& row = functions_[function];
    row.name = function;
    row.role = role;
    row.totals.add(totals);
    if (mpi_function(function).starts_mpi) startup_ns_ += totals.time;
    if (key.comm != kNoComm) add_comm(key.comm, totals);
    if (may_wait(role)) {
      WaitRow& wait = waits_[{function, key.comm}];
      wait.calls += totals.calls;
      wait.time_ns += totals.time;
    }
    if (is_collective(role) && key.sizes < kSizeClassCount) {
      report_.collective_sizes[key.sizes].messages += totals.calls;
      report_.collective_sizes[key.sizes].bytes += totals.bytes_sent + totals.bytes_received;
    }
  }

  void check_collectives(const CollectiveSums& sums) {
    for (const CommDefinition& comm : definitions_.comms) {
      if (comm.kind == CommKind::kSelf || !has_sure_name(definitions_, comm)) continue;
      const CollectiveSum sum = sums.on(comm.id);
      if (sum.count != 0) add_comm(comm.id, {});
      const auto row = comms_.find({CommRowKind::kComm, comm.global_name});
      if (row != comms_.end()) row->second.check.merge({.sum = sum, .ranks = 1});
    }
  }

  void finish() {
    const std::int32_t world_rank = definitions_.info.world_rank;
    for (auto& [name, row] : functions_) report_.functions.push_back(std::move(row));
    for (auto& [key, row] : comms_) report_.comms.push_back(std::move(row));
    for (auto& [key, row] : waits_) {
      row.world_rank = world_rank;
      row.function = key.first;
      row.comm = comm_name(definitions_, key.second);
      if (row.time_ns != 0) report_.waits.push_back(std::move(row));
    }
  }
  std::uint64_t startup_ns() const { return startup_ns_; }

 private:
  static CommRowKind row_kind(CommKind kind) {
    if (kind == CommKind::kSelf) return CommRowKind::kSelf;
    return kind == CommKind::kRemote ? CommRowKind::kRemote : CommRowKind::kComm;
  }

  void add_comm(CommId id, const CallTotals& totals) {
    const CommDefinition* comm = id == kMixedComms ? nullptr : definitions_.comm(id);
    CommRow row{.kind = CommRowKind::kOthers, .name = kOthersName, .totals = {}, .check = {}};
    if (comm != nullptr) {
      row.kind = row_kind(comm->kind);
      row.global_name = comm->kind == CommKind::kSelf ? 0 : comm->global_name;
      row.name = cut(comm->name);
      row.size = rank_count(comm->members) + rank_count(comm->remote_members);
    }
    CommRow& known = comms_.try_emplace({row.kind, row.global_name}, std::move(row)).first->second;
    known.totals.add(totals);
  }

  const ProcessDefinitions& definitions_;
  RunReport& report_;
  std::map<std::string, FunctionRow> functions_;
  std::map<std::pair<CommRowKind, std::uint64_t>, CommRow> comms_;
  std::map<std::pair<std::string, CommId>, WaitRow> waits_;
  std::uint64_t startup_ns_ = 0;
};

double tick_ns(const ProcessInfo& info, const RankFacts& facts) {
  return facts.ns_per_tick > 0 ? facts.ns_per_tick : ns_per_tick(info);
}

/// Start of recording, from the first point at which all clocks were read.
std::int64_t start_realtime_ns(const ProcessInfo& info, const RankFacts& facts) {
  if (info.clock.points.empty()) return 0;
  const ClockPoint& first = info.clock.points.front();
  if (info.start_ticks == 0) return first.realtime_ns;
  const auto since_first = static_cast<std::int64_t>(info.start_ticks -
                                                     first.ticks);  // may be negative
  return first.realtime_ns +
         static_cast<std::int64_t>(static_cast<double>(since_first) * tick_ns(info, facts));
}

void describe_run(const ProcessInfo& info, const RankFacts& facts, RunReport& report) {
  report.run.version = facts.version;
  report.run.run_id = cut(info.run_id);
  report.run.job = cut(info.job);
  for (const LauncherFact& fact : info.launcher) {
    const bool is_of_rank = fact.name == kStepNodeFact;
    if (!is_of_rank && report.run.launcher.size() < kMaxLauncherFacts)
      report.run.launcher.push_back({cut(fact.name), cut(fact.value)});
  }
  report.run.world = cut(info.world.name);
  report.run.parent_world = cut(info.world.parent);
  report.run.mpi_library = cut(info.mpi_library);
  report.run.interfaces = info.interfaces;
  for (std::size_t i = 0; i < std::min(info.unrecorded.size(), kMaxUnrecorded); ++i) {
    report.run.unrecorded.push_back(cut(info.unrecorded[i]));
  }
  report.run.programs = {
      cut(info.command_line.empty() ? info.program : info.command_line, kMaxCommandBytes)};
  report.world_size = info.world_size;
  report.start_realtime_ns = start_realtime_ns(info, facts);
  report.nodes = {cut(info.host)};
  report.notes = facts.notes;
  report.covers_all_calls = facts.covers_all_calls;
}

void describe_messages(const Profile& profile, std::int32_t world_rank, RunReport& report) {
  for (const PeerTotals& peer : profile.peers()) {
    report.messages.messages += peer.messages;
    report.messages.bytes += peer.bytes;
    if (peer.world_rank < 0) continue;
    report.pairs.push_back({world_rank, peer.world_rank, peer.messages, peer.bytes});
  }
  report.pair_count = report.pairs.size();
  report.message_sizes = profile.message_sizes();
}

/// One file row for each name; names that are equal after truncation share a row.
void describe_files(const ProcessDefinitions& definitions, const Profile& profile,
                    double ns_per_unit, RunReport& report) {
  std::map<std::string, FileTotals> by_name;
  std::set<std::string_view> seen;
  for (const FileDefinition& file : definitions.files) {
    if (!seen.insert(file.name).second) continue;
    if (const FileTotals* totals = profile.files().find(file.name))
      by_name[cut_path(file.name)].add(*totals);
  }
  if (const FileTotals* others = profile.files().others()) by_name[kOthersName].add(*others);
  for (const auto& [name, totals] : by_name) {
    FileRow& row = report.files.emplace_back();
    row.name = name;
    static_cast<FileTotals&>(row.totals) = totals;
    row.totals.time = scaled(totals.time, ns_per_unit);
    row.totals.ranks = 1;
  }
}

/// Names that are equal after truncation share a row.
void describe_regions(const ProcessDefinitions& definitions, const Profile& profile,
                      double ns_per_unit, RunReport& report) {
  std::map<std::string, CallTotals> by_name;
  for (const RegionTotals& row : profile.regions().rows()) {
    by_name[function_name(definitions, row.region)].add(
        {.calls = row.count,
         .time = scaled(row.time, ns_per_unit),
         .max_time = scaled(row.max_time, ns_per_unit)});
  }
  for (const auto& [name, totals] : by_name) report.regions.push_back({name, totals});
}

/// From the first to the last call; for a program without MPI the duration of recording.
std::uint64_t wall_ns(const ProcessInfo& info, const Profile& profile, const RankFacts& facts) {
  const bool is_without_mpi = profile.is_empty() && !profile.regions().rows().empty() &&
                              info.end_ticks > info.start_ticks;
  if (is_without_mpi) return scaled(info.end_ticks - info.start_ticks, tick_ns(info, facts));
  return scaled(profile.last_leave() - profile.first_enter(), facts.ns_per_profile_unit);
}

/// Returns the peer, root or target argument of a call that has not returned.
std::int32_t peer_of(const Call& call) {
  std::int32_t peer = kNoPeer;
  if (call.posted.empty()) return peer;
  events::visit(
      call.posted.front(),
      events::Handler{
          events::on<events::Send, events::PostedReceive, events::Receive, events::MatchedProbe,
                     events::FoundMessage>([&peer](auto message) { peer = message.peer(); }),
          events::on<events::Collective, events::CollectiveCompletion>(
              [&peer](auto collective) { peer = collective.root(); }),
          events::on<events::RmaOperation, events::RmaSync, events::WindowUse>(
              [&peer](auto event) { peer = event.target(); }),
          events::Ignores<events::Completion, events::RequestUse, events::CommChange,
                          events::FileTransfer, events::FileUse, events::FileCollective,
                          events::Error, events::LocalBytes, events::CallSite, events::Value,
                          events::Left>()});
  return peer;
}

}  // namespace

ClockFacts clock_facts(const RunTime& time) {
  ClockFacts facts{.domains = time.domains.size()};
  for (const auto& [id, domain] : time.domains) {
    if (domain.is_measured)
      facts.error_ns = std::max(facts.error_ns, domain.error_ns);
    else
      ++facts.unmeasured;
  }
  return facts;
}

double ns_per_tick(const ProcessInfo& info) {
  if (info.clock.kind != ClockKind::kTsc || info.clock.points.size() < 2) return 1.0;
  const ClockPoint& first = info.clock.points.front();
  const ClockPoint& last = info.clock.points.back();
  if (last.ticks <= first.ticks || last.monotonic_ns <= first.monotonic_ns) return 1.0;
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

RunReport summarize(const ProcessDefinitions& definitions, const Profile& profile,
                    const RankFacts& facts) {
  RunReport report;
  const ProcessInfo& info = definitions.info;
  describe_run(info, facts, report);
  Summary summary(definitions, report);
  for (ProfileRow row : profile.rows()) {
    row.totals.time = scaled(row.totals.time, facts.ns_per_profile_unit);
    row.totals.max_time = scaled(row.totals.max_time, facts.ns_per_profile_unit);
    summary.add(row.key, row.totals);
  }
  summary.check_collectives(profile.collectives());
  summary.finish();
  describe_messages(profile, info.world_rank, report);
  describe_files(definitions, profile, facts.ns_per_profile_unit, report);
  const auto function_of = [&](RegionId region) { return function_name(definitions, region); };
  describe_call_sites(definitions, profile, facts.ns_per_profile_unit, function_of, report);
  describe_regions(definitions, profile, facts.ns_per_profile_unit, report);
  RankRow rank;
  rank.world_rank = info.world_rank;
  rank.pid = info.pid;
  const std::optional<std::uint64_t> step_node = parse_count(
      launcher_fact(info.launcher, kStepNodeFact));
  if (step_node && *step_node <= INT32_MAX) rank.step_node = static_cast<std::int32_t>(*step_node);
  for (const FunctionRow& row : report.functions) {
    rank.calls += row.totals.calls;
    rank.mpi_time_ns += row.totals.time;
  }
  rank.startup_ns = summary.startup_ns();
  rank.wall_ns = wall_ns(info, profile, facts);
  rank.thread_count = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, definitions.locations.size()));
  rank.overhead_ns = scaled(std::max(facts.overhead_ticks, info.overhead_ticks),
                            tick_ns(info, facts));
  rank.trace_bytes = facts.trace_bytes;
  rank.end_state = info.end_state;
  rank.is_standalone = info.is_standalone || facts.is_standalone;
  rank.cpu = facts.cpu;
  rank.cpus = info.cpus;
  report.ranks = {rank};
  report.unpacked_trace_bytes = facts.unpacked_trace_bytes;
  report.pending = facts.pending;
  report.pending_count = report.pending.size();
  report.losses = definitions.losses;
  bound(report);
  return report;
}

void fold(const RecordSource& source, std::int32_t world_rank, Profile& profile,
          std::vector<PendingRow>& pending,
          const std::function<void(std::uint64_t calls)>& progress) {
  const ProcessDefinitions& definitions = source.process(world_rank);
  profile.define(definitions);
  const UserRegions regions(definitions);
  std::uint64_t unreported = 0;
  const std::size_t old_pending = pending.size();
  for (const LocationDefinition& location : definitions.locations) {
    const std::unique_ptr<CallStream> calls = source.calls(world_rank, location.id);
    if (const auto points = source.points(world_rank, location.id)) {
      for (Point point; points->next(point);) profile.add(point);
    }
    Call call;
    while (calls->next(call)) {
      profile.add(call);
      if (call.is_pending && !regions.has(call)) {
        const RegionDefinition* region = definitions.region(call.region);
        pending.push_back({.world_rank = world_rank,
                           .function = region == nullptr ? kOthersName : cut(region->name),
                           .comm = comm_name(definitions, call.comm),
                           .peer = peer_of(call),
                           .since_ns = call.enter_ns,
                           .time_ns = call.leave_ns - call.enter_ns});
      }
      if (++unreported == kCallsPerProgress && progress) progress(std::exchange(unreported, 0));
    }
  }
  if (progress && unreported != 0) progress(unreported);
  for (std::size_t i = old_pending; i < pending.size(); ++i)
    pending[i].since_ns -= profile.first_enter();
}

RunReport summarize_run(const RecordSource& source, const std::string& version,
                        const std::vector<std::uint64_t>& trace_bytes,
                        const std::function<void(std::uint64_t calls)>& progress) {
  RunReport report;
  const std::vector<std::int32_t>& world_ranks = source.world_ranks();
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    Profile profile;
    RankFacts facts;
    facts.version = version;
    fold(source, world_ranks[i], profile, facts.pending, progress);
    facts.cpu = cpu_totals_of(source, world_ranks[i]);
    if (i < trace_bytes.size()) facts.trace_bytes = trace_bytes[i];
    const ProcessDefinitions& definitions = source.process(world_ranks[i]);
    facts.covers_all_calls = has_all_calls(definitions.losses);
    merge(report, summarize(definitions, profile, facts));
  }
  report.run.version = version;
  report.world_size = std::max(report.world_size, source.world_size());
  if (source.start_realtime_ns() != 0) report.start_realtime_ns = source.start_realtime_ns();
  return report;
}

}  // namespace megascope::report
