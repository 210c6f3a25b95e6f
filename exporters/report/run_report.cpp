#include "exporters/report/run_report.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

namespace megascope::report {
namespace {

template <class Rows, class Heavier>
void keep_heaviest(Rows& rows, std::size_t limit, Heavier heavier) {
  std::sort(rows.begin(), rows.end(), heavier);
  if (rows.size() > limit) rows.resize(limit);
}

template <class Row>
void add_row(Row& mine, const Row& theirs) {
  mine.totals.add(theirs.totals);
}
void add_row(CallSiteRow& mine, const CallSiteRow& theirs) {
  mine.totals.add(theirs.totals);
  if (mine.site.line == 0 && theirs.site.line != 0)
    mine.site = theirs.site;  // some nodes may have debug information
}
void add_row(CommRow& mine, const CommRow& theirs) {
  mine.totals.add(theirs.totals);
  mine.check.merge(theirs.check);
}

/// Merges rows with equal keys. Both lists and the result are ascending by key.
template <class Row, class Key>
void add_rows(std::vector<Row>& mine, const std::vector<Row>& theirs, Key key) {
  std::vector<Row> all;
  all.reserve(mine.size() + theirs.size());
  auto left = mine.begin();
  for (const Row& row : theirs) {
    while (left != mine.end() && key(*left) < key(row)) all.push_back(std::move(*left++));
    if (left != mine.end() && key(*left) == key(row)) {
      add_row(*left, row);
    } else {
      all.push_back(row);
    }
  }
  std::move(left, mine.end(), std::back_inserter(all));
  mine = std::move(all);
}

bool is_others(const FunctionRow& row) { return row.name == kOthersName; }
bool is_others(const RegionRow& row) { return row.name == kOthersName; }
bool is_others(const CallSiteRow& row) { return row.function == kOthersName; }
bool is_others(const FileRow& row) { return row.name == kOthersName; }
bool is_others(const CommRow& row) { return row.kind == CommRowKind::kOthers; }
template <class Row>
bool is_to_be_kept(const Row&) {
  return false;
}
bool is_to_be_kept(const CommRow& row) { return row.check.differs; }

/// Merges the rows with the least time into the row `others`, which is inserted in key order.
template <class Row, class Key>
void bound_rows(std::vector<Row>& rows, std::size_t limit, Row others, Key key) {
  if (rows.size() <= limit) return;
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (is_others(a) != is_others(b)) return is_others(b);  // sorts after all others
    if (is_to_be_kept(a) != is_to_be_kept(b)) return is_to_be_kept(a);
    if (a.totals.time != b.totals.time) return a.totals.time > b.totals.time;
    return key(a) < key(b);
  });
  for (std::size_t i = limit - 1; i < rows.size(); ++i) others.totals.add(rows[i].totals);
  rows.resize(limit - 1);
  rows.push_back(std::move(others));
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a) < key(b); });
}

void merge_texts(std::vector<std::string>& mine, const std::vector<std::string>& theirs,
                 std::size_t limit) {
  for (const std::string& text : theirs) {
    if (mine.size() < limit && std::find(mine.begin(), mine.end(), text) == mine.end())
      mine.push_back(text);
  }
}

void merge_ranks(RunReport& mine, const RunReport& theirs) {
  std::unordered_map<std::string, std::uint32_t> index_of;
  for (std::uint32_t i = 0; i < mine.nodes.size(); ++i) index_of.emplace(mine.nodes[i], i);
  std::vector<std::uint32_t> translated;
  for (const std::string& node : theirs.nodes) {
    const auto [found, is_new] = index_of.emplace(node,
                                                  static_cast<std::uint32_t>(mine.nodes.size()));
    if (is_new) mine.nodes.push_back(node);
    translated.push_back(found->second);
  }
  for (RankRow row : theirs.ranks) {
    row.node = row.node < translated.size() ? translated[row.node] : 0;
    mine.ranks.push_back(row);
  }
  const auto by_rank = [](const RankRow& a, const RankRow& b) {
    return a.world_rank < b.world_rank;
  };
  if (!std::is_sorted(mine.ranks.begin(), mine.ranks.end(), by_rank)) {
    std::stable_sort(mine.ranks.begin(), mine.ranks.end(), by_rank);
  }
  const auto is_same = [](const RankRow& a, const RankRow& b) {
    return a.world_rank == b.world_rank;
  };
  mine.ranks.erase(std::unique(mine.ranks.begin(), mine.ranks.end(), is_same), mine.ranks.end());
}

template <class Row>
void append(std::vector<Row>& mine, const std::vector<Row>& theirs) {
  mine.insert(mine.end(), theirs.begin(), theirs.end());
}

const std::string& function_key(const FunctionRow& row) { return row.name; }
const std::string& region_key(const RegionRow& row) { return row.name; }
const std::string& file_key(const FileRow& row) { return row.name; }
auto call_site_key(const CallSiteRow& row) {
  return std::tie(row.site.module, row.site.offset, row.site.build_id, row.function);
}
std::pair<CommRowKind, std::uint64_t> comm_key(const CommRow& row) {
  return {row.kind, row.global_name};
}

void add_sizes(std::array<SizeTotals, kSizeClassCount>& mine,
               const std::array<SizeTotals, kSizeClassCount>& theirs) {
  for (std::size_t i = 0; i < kSizeClassCount; ++i) {
    mine[i].messages += theirs[i].messages;
    mine[i].bytes += theirs[i].bytes;
  }
}

void take_if_empty(std::string& mine, const std::string& theirs) {
  if (mine.empty()) mine = theirs;
}

}  // namespace

void CollectiveCheck::merge(const CollectiveCheck& other) {
  if (other.ranks == 0) return;
  if (ranks == 0) {
    *this = other;
    return;
  }
  const bool has_all = sum.count == sum.reached &&
                       other.sum.count ==
                           // Otherwise the difference may be in calls beyond the limit.
                           other.sum.reached;
  differs = differs || other.differs || (has_all && sum != other.sum);
  ranks += other.ranks;
}

std::vector<const CommRow*> comms_that_differ(const RunReport& report) {
  const bool is_whole = report.covers_all_calls &&
                        report.losses[static_cast<std::size_t>(LossCause::kNoBuffer)] == 0 &&
                        std::ranges::all_of(report.ranks, [](const RankRow& rank) {
                          return rank.end_state == EndState::kFinalized;
                        });
  if (!is_whole) return {};
  // A rank without a row called no collective there, unless its row was beyond the limit.
  const bool has_all = report.ranks.size() == static_cast<std::size_t>(report.world_size) &&
                       std::ranges::none_of(report.comms,
                                            [](const CommRow& row) { return is_others(row); });
  std::vector<const CommRow*> rows;
  for (const CommRow& row : report.comms) {
    const bool lacks_some = has_all && row.check.sum.count != 0 && row.check.ranks != 0 &&
                            row.check.ranks < static_cast<std::uint64_t>(row.size);
    if (row.check.differs || lacks_some) rows.push_back(&row);
  }
  return rows;
}

void add_facts(std::vector<LauncherFact>& mine, const std::vector<LauncherFact>& theirs) {
  for (const LauncherFact& fact : theirs) {
    const bool is_known = std::ranges::any_of(
        mine, [&](const LauncherFact& one) { return one.name == fact.name; });
    if (!is_known && mine.size() < kMaxLauncherFacts) mine.push_back(fact);
  }
}

void bound(RunReport& report) {
  bound_rows(report.functions, kMaxFunctions, {.name = kOthersName, .totals = {}}, function_key);
  bound_rows(report.comms, kMaxComms,
             {.kind = CommRowKind::kOthers, .name = kOthersName, .totals = {}, .check = {}},
             comm_key);
  bound_rows(report.files, kMaxFiles, {.name = kOthersName, .totals = {}}, file_key);
  bound_rows(report.regions, kMaxRegions, {.name = kOthersName, .totals = {}}, region_key);
  std::ranges::sort(report.call_sites, {}, call_site_key);
  bound_rows(report.call_sites, kMaxCallSites, {.function = kOthersName, .site = {}, .totals = {}},
             call_site_key);
  keep_heaviest(report.pairs, kMaxPairs, [](const PairRow& a, const PairRow& b) {
    return std::tie(b.bytes, b.messages, a.source, a.destination) <
           std::tie(a.bytes, a.messages, b.source, b.destination);
  });
  keep_heaviest(report.waits, kMaxWaits, [](const WaitRow& a, const WaitRow& b) {
    return std::tie(b.time_ns, a.world_rank, a.function, a.comm) <
           std::tie(a.time_ns, b.world_rank, b.function, b.comm);
  });
  keep_heaviest(report.pending, kMaxPending, [](const PendingRow& a, const PendingRow& b) {
    return std::tie(b.time_ns, a.world_rank, a.function, a.peer) <
           std::tie(a.time_ns, b.world_rank, b.function, b.peer);
  });
}

void merge(RunReport& mine, const RunReport& theirs) {
  take_if_empty(mine.run.version, theirs.run.version);
  take_if_empty(mine.run.run_id, theirs.run.run_id);
  take_if_empty(mine.run.job, theirs.run.job);
  add_facts(mine.run.launcher, theirs.run.launcher);
  take_if_empty(mine.run.world, theirs.run.world);
  take_if_empty(mine.run.parent_world, theirs.run.parent_world);
  take_if_empty(mine.run.mpi_library, theirs.run.mpi_library);
  mine.run.interfaces = static_cast<std::uint8_t>(mine.run.interfaces | theirs.run.interfaces);
  merge_texts(mine.run.unrecorded, theirs.run.unrecorded, kMaxUnrecorded);
  merge_texts(mine.run.programs, theirs.run.programs, kMaxPrograms);
  mine.world_size = std::max(mine.world_size, theirs.world_size);
  if (mine.start_realtime_ns == 0 ||
      (theirs.start_realtime_ns != 0 && theirs.start_realtime_ns < mine.start_realtime_ns)) {
    mine.start_realtime_ns = theirs.start_realtime_ns;
  }
  merge_ranks(mine, theirs);
  mine.unpacked_trace_bytes += theirs.unpacked_trace_bytes;
  add_rows(mine.functions, theirs.functions, function_key);
  add_rows(mine.comms, theirs.comms, comm_key);
  add_rows(mine.files, theirs.files, file_key);
  add_rows(mine.call_sites, theirs.call_sites, call_site_key);
  add_rows(mine.regions, theirs.regions, region_key);
  append(mine.pairs, theirs.pairs);
  append(mine.waits, theirs.waits);
  append(mine.pending, theirs.pending);
  bound(mine);
  mine.pair_count += theirs.pair_count;
  mine.messages.messages += theirs.messages.messages;
  mine.messages.bytes += theirs.messages.bytes;
  add_sizes(mine.message_sizes, theirs.message_sizes);
  add_sizes(mine.collective_sizes, theirs.collective_sizes);
  mine.pending_count += theirs.pending_count;
  for (std::size_t i = 0; i < kLossCauseCount; ++i) mine.losses[i] += theirs.losses[i];
  mine.covers_all_calls = mine.covers_all_calls && theirs.covers_all_calls;
  merge_texts(mine.notes, theirs.notes, kMaxNotes);
}

Status merge_up(Collective& collective, RunReport& report) {
  Collective::Bytes bytes;
  serialize(report, bytes);
  Status damaged;
  const auto fold = [&damaged](Collective::Bytes& mine, std::span<const std::byte> theirs) {
    RunReport lower;
    RunReport higher;
    damaged.update(parse(mine, lower));
    damaged.update(parse(theirs, higher));
    merge(lower, higher);
    mine.clear();
    serialize(lower, mine);
  };
  Status status = collective.merge_up(bytes, fold);
  status.update(damaged);
  if (!status.is_ok() || collective.rank() != 0) return status;
  RunReport merged;
  status = parse(bytes, merged);
  merged.conclusion.directory = report.conclusion.directory;
  merged.conclusion.report_command = report.conclusion.report_command;
  merged.conclusion.exports = report.conclusion.exports;
  if (status.is_ok()) report = std::move(merged);
  return status;
}

}  // namespace megascope::report
