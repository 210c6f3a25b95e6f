#include "core/base/text.h"
#include "core/base/text_table.h"
#include "core/record/mpi_function.h"
#include "exporters/report/cpu_rows.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::report {
namespace {

using Align = Table::Align;

std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}
std::uint64_t bytes_of(const CallTotals& totals) {
  return totals.bytes_sent + totals.bytes_received;
}
std::string bytes_or_dot(std::uint64_t bytes) { return bytes == 0 ? "." : human_bytes(bytes); }

/// "512", "1.2M": for the narrow columns of the matrix; "." for 0.
std::string short_bytes(std::uint64_t bytes) {
  std::string text = bytes_or_dot(bytes);
  std::erase(text, ' ');
  std::erase(text, 'i');
  std::erase(text, 'B');
  return text;
}

Lines titled(const std::string& title, const Table& table) {
  Lines lines = {title};
  if (table.row_count() == 0) return {};
  const Lines rows = table.lines(2);
  lines.insert(lines.end(), rows.begin(), rows.end());
  return lines;
}

/// Rows by descending time, then by calls and name.
template <class Row>
std::vector<const Row*> by_time(const std::vector<Row>& rows) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) {
    if (a->totals.time != b->totals.time) return a->totals.time > b->totals.time;
    if (a->totals.calls != b->totals.calls) return a->totals.calls > b->totals.calls;
    return a->name < b->name;
  });
  return sorted;
}

/// The ranks to show, by ascending fraction if there are more than fit: half with the lowest, half
/// with the highest.
std::vector<const RankRow*> chosen_ranks(const RunReport& report, const TimeShares& shares,
                                         std::size_t limit) {
  std::vector<const RankRow*> chosen;
  if (report.ranks.size() <= limit) {
    for (const RankRow& rank : report.ranks) chosen.push_back(&rank);
    return chosen;
  }
  const std::size_t least = (limit + 1) / 2;
  const std::size_t most = limit - least;
  chosen.assign(shares.by_share.begin(),
                shares.by_share.begin() + static_cast<std::ptrdiff_t>(least));
  chosen.insert(chosen.end(), shares.by_share.end() - static_cast<std::ptrdiff_t>(most),
                shares.by_share.end());
  return chosen;
}

std::uint64_t pair_bytes(const RunReport& report, std::int32_t source, std::int32_t destination) {
  for (const PairRow& pair : report.pairs) {
    if (pair.source == source && pair.destination == destination) return pair.bytes;
  }
  return 0;
}

bool has_matrix(const RunReport& report) {
  return !report.pairs.empty() && report.world_size <= static_cast<std::int32_t>(kMatrixRanks);
}

}  // namespace

Lines rank_section(const RunReport& report, const TimeShares& shares, const RowLimits& limits) {
  const bool is_with_matrix = has_matrix(report);
  const bool is_with_nodes = report.nodes.size() > 1;
  std::vector<Table::Column> columns = {{"rank"}};
  if (is_with_nodes) columns.push_back({"node", Align::kLeft, is_with_matrix ? 8U : 24U});
  for (const char* title : {"in MPI", "share", "calls"}) columns.push_back({title});
  const bool is_with_cpu = shows_cpu(report);
  if (is_with_cpu) columns.insert(columns.end(), {{"CPU"}, {"for a core"}});
  for (std::int32_t rank = 0; is_with_matrix && rank < report.world_size; ++rank) {
    columns.push_back({fmt::format("to {}", rank)});
  }
  Table table(std::move(columns));
  for (const RankRow* rank : chosen_ranks(report, shares, limits.ranks)) {
    std::vector<std::string> cells = {fmt::format("{}", rank->world_rank)};
    if (is_with_nodes) cells.push_back(report.nodes[rank->node]);
    const std::uint64_t in_mpi_ns = rank->mpi_time_ns -
                                    std::min(rank->mpi_time_ns, rank->startup_ns);
    cells.insert(cells.end(),
                 {duration(in_mpi_ns), percent_text(mpi_share(*rank)), human_count(rank->calls)});
    if (is_with_cpu) cells.insert(cells.end(), {cpu_cell(*rank), core_wait_cell(*rank)});
    for (std::int32_t to = 0; is_with_matrix && to < report.world_size; ++to) {
      cells.push_back(short_bytes(pair_bytes(report, rank->world_rank, to)));
    }
    table.add(std::move(cells));
  }
  std::string title = report.ranks.size() > limits.ranks
                          ? fmt::format("Ranks with the least and the most time in MPI, {} of {}",
                                        limits.ranks, report.ranks.size())
                          : "Ranks";
  if (is_with_cpu) title += "; \"for a core\": runnable and without one";
  if (is_with_matrix) title += "; on the right bytes sent to each rank point to point";
  return titled(title, table);
}

Lines function_section(const RunReport& report, const RowLimits& limits) {
  std::uint64_t all_ns = 0;
  std::vector<FunctionRow> rows;
  for (const FunctionRow& row : report.functions) {
    if (mpi_function(row.name).starts_mpi) continue;
    all_ns += row.totals.time;
    rows.push_back(row);
  }
  Table table({{"function", Align::kLeft, 32},
               {"calls"},
               {"time"},
               {"of MPI"},
               {"mean"},
               {"longest"},
               {"bytes"}});
  const auto add = [&](const std::string& name, const CallTotals& totals) {
    const double share = all_ns == 0
                             ? 0
                             : static_cast<double>(totals.time) / static_cast<double>(all_ns);
    table.add({name, human_count(totals.calls), duration(totals.time), percent_text(share),
               totals.calls == 0 ? "." : duration(totals.time / totals.calls),
               duration(totals.max_time), bytes_or_dot(bytes_of(totals))});
  };
  const std::vector<const FunctionRow*> sorted = by_time(rows);
  const std::size_t shown = sorted.size() <= limits.functions ? sorted.size()
                                                              : limits.functions - 1;
  for (std::size_t i = 0; i < shown; ++i) add(sorted[i]->name, sorted[i]->totals);
  if (shown < sorted.size()) {
    CallTotals rest;
    for (std::size_t i = shown; i < sorted.size(); ++i) rest.add(sorted[i]->totals);
    add(fmt::format("({} more)", sorted.size() - shown), rest);
  }
  return titled("MPI functions by time, all ranks together", table);
}

Lines comm_section(const RunReport& report, const RowLimits& limits) {
  if (limits.comms == 0) return {};
  Table table({{"communicator", Align::kLeft, 40}, {"ranks"}, {"calls"}, {"time"}, {"bytes"}});
  const std::vector<const CommRow*> sorted = by_time(report.comms);
  const std::size_t shown = sorted.size() <= limits.comms ? sorted.size() : limits.comms - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const CommRow& row = *sorted[i];
    const std::string name = row.name.empty() ? "(unnamed)" : row.name;
    table.add({row.kind == CommRowKind::kRemote ? "other world: " + name : name,
               row.size == 0 ? "." : fmt::format("{}", row.size), human_count(row.totals.calls),
               duration(row.totals.time), bytes_or_dot(bytes_of(row.totals))});
  }
  if (shown < sorted.size()) {
    CallTotals rest;
    for (std::size_t i = shown; i < sorted.size(); ++i) rest.add(sorted[i]->totals);
    table.add({fmt::format("({} more)", sorted.size() - shown), ".", human_count(rest.calls),
               duration(rest.time), bytes_or_dot(bytes_of(rest))});
  }
  return titled("Communicators by time", table);
}

Lines size_section(const RunReport& report) {
  static constexpr struct {
    const char* title;
    std::size_t end;  // first size class beyond
  } kRanges[] = {{"0 B", 1},
                 {"< 256 B", 9},
                 {"< 4 KiB", 13},
                 {"< 64 KiB", 17},
                 {"< 1 MiB", 21},
                 {"< 16 MiB", 25},
                 {"larger", kSizeClassCount}};
  std::vector<Table::Column> columns = {{"", Align::kLeft}};
  std::vector<std::string> messages = {"messages sent"};
  std::vector<std::string> collectives = {"collective calls"};
  std::size_t begin = 0;
  for (const auto& range : kRanges) {
    std::uint64_t message_count = 0;
    std::uint64_t collective_count = 0;
    for (; begin < range.end; ++begin) {
      message_count += report.message_sizes[begin].messages;
      collective_count += report.collective_sizes[begin].messages;
    }
    if (message_count + collective_count == 0) continue;
    columns.push_back({range.title});
    messages.push_back(message_count == 0 ? "." : human_count(message_count));
    collectives.push_back(collective_count == 0 ? "." : human_count(collective_count));
  }
  if (columns.size() == 1) return {};
  Table table(std::move(columns));
  table.add(std::move(messages));
  table.add(std::move(collectives));
  Lines lines = table.lines(2);
  lines.front().replace(0, 5, "Sizes");
  return lines;
}

Lines pair_section(const RunReport& report, const RowLimits& limits) {
  if (report.pairs.empty() || has_matrix(report)) return {};
  Table table({{"from"}, {"to"}, {"messages"}, {"bytes"}, {"of all bytes"}});
  const double all = static_cast<double>(std::max<std::uint64_t>(1, report.messages.bytes));
  for (std::size_t i = 0; i < std::min(limits.pairs, report.pairs.size()); ++i) {
    const PairRow& pair = report.pairs[i];
    table.add({fmt::format("{}", pair.source), fmt::format("{}", pair.destination),
               human_count(pair.messages), bytes_or_dot(pair.bytes),
               percent_text(static_cast<double>(pair.bytes) / all)});
  }
  return titled(
      fmt::format("Heaviest pairs of ranks, {} of {}", table.row_count(), report.pair_count),
      table);
}

Lines wait_section(const RunReport& report, const RowLimits& limits) {
  Table table({{"rank"},
               {"function", Align::kLeft, 32},
               {"communicator", Align::kLeft, 32},
               {"calls"},
               {"time"}});
  for (std::size_t i = 0; i < std::min(limits.waits, report.waits.size()); ++i) {
    const WaitRow& wait = report.waits[i];
    table.add({fmt::format("{}", wait.world_rank), wait.function,
               wait.comm.empty() ? "." : wait.comm, human_count(wait.calls),
               duration(wait.time_ns)});
  }
  return titled("Longest in calls that may wait for other ranks", table);
}

Lines pending_section(const RunReport& report, const RowLimits& limits) {
  Table table({{"rank"},
               {"inside", Align::kLeft, 32},
               {"communicator", Align::kLeft, 32},
               {"peer"},
               {"entered after"},
               {"for"}});
  for (std::size_t i = 0; i < std::min(limits.pending, report.pending.size()); ++i) {
    const PendingRow& call = report.pending[i];
    const std::string peer = call.peer >= 0            ? fmt::format("{}", call.peer)
                             : call.peer == kAnySource ? "any"
                                                       : ".";
    table.add({fmt::format("{}", call.world_rank), call.function,
               call.comm.empty() ? "." : call.comm, peer, duration(call.since_ns),
               call.time_ns == 0 ? "." : duration(call.time_ns)});
  }
  Lines lines = titled(fmt::format("Calls that had not returned at the end, {} of {}",
                                   table.row_count(), report.pending_count),
                       table);
  if (!lines.empty() && !report.conclusion.directory.empty())
    lines.push_back("  To see which ranks wait for which: megascope hang " +
                    shell_quoted(report.conclusion.directory));
  return lines;
}

}  // namespace megascope::report
