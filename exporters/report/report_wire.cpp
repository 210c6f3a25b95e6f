#include "core/base/wire.h"
#include "exporters/report/run_report.h"

#include <limits>
#include <tuple>

namespace megascope::report {
namespace {

constexpr std::uint64_t kFormat = 7;
constexpr std::size_t kMaxTextBytes = 4096;
constexpr std::size_t kMaxRanks = std::size_t{1} << 24;

/// Each row is described once for both directions: `Codec` is Writer or Reader.
struct Writer {
  WireWriter out;
  template <class T>
  void number(const T& value) {
    out.number(static_cast<std::uint64_t>(value));
  }
  template <class T>
  void signed_number(const T& value) {
    out.signed_number(value);
  }
  template <class E>
  void choice(const E& value, E) {
    number(value);
  }
  void text(const std::string& value) {
    out.text(std::string_view(value).substr(0, kMaxTextBytes));
  }
  /// Writes ascending numbers; writes an empty list if the text would be too long.
  void numbers(const std::vector<std::uint32_t>& values) {
    const std::string list = number_list(values);
    out.text(list.size() <= kMaxTextBytes ? std::string_view(list) : std::string_view());
  }
  template <class Rows, class Row>
  void rows(const Rows& values, std::size_t, Row row) {
    out.number(values.size());
    for (const auto& value : values) row(*this, value);
  }
};

struct Reader {
  WireReader in;
  template <class T>
  void number(T& value) {
    value = static_cast<T>(in.bounded(std::numeric_limits<T>::max()));
  }
  void number(bool& value) { value = in.bounded(1) != 0; }
  template <class T>
  void signed_number(T& value) {
    const std::int64_t read = in.signed_number();
    value = static_cast<T>(read);
    if (value != read) in.fail();
  }
  template <class E>
  void choice(E& value, E last) {
    value = static_cast<E>(in.bounded(static_cast<std::uint64_t>(last)));
  }
  void text(std::string& value) { value = in.text(kMaxTextBytes); }
  void numbers(std::vector<std::uint32_t>& values) {
    if (!parse_number_list(in.text(kMaxTextBytes), values)) in.fail();
  }
  template <class Rows, class Row>
  void rows(Rows& values, std::size_t limit, Row row) {
    values.clear();
    for (std::size_t left = in.count(limit); left > 0 && in.is_ok(); --left)
      row(*this, values.emplace_back());
  }
};

constexpr auto totals = [](auto& codec, auto& row) {
  codec.number(row.calls);
  codec.number(row.time);
  codec.number(row.max_time);
  codec.number(row.bytes_sent);
  codec.number(row.bytes_received);
};
constexpr auto text_row = [](auto& codec, auto& row) { codec.text(row); };
constexpr auto function_row = [](auto& codec, auto& row) {
  codec.text(row.name);
  codec.choice(row.role, RegionRole::kCode);
  totals(codec, row.totals);
};
constexpr auto comm_row = [](auto& codec, auto& row) {
  codec.choice(row.kind, CommRowKind::kOthers);
  codec.number(row.global_name);
  codec.text(row.name);
  codec.signed_number(row.size);
  totals(codec, row.totals);
  codec.number(row.check.sum.count);
  codec.number(row.check.sum.hash);
  codec.number(row.check.sum.reached);
  codec.number(row.check.ranks);
  codec.number(row.check.differs);
};
constexpr auto fact_row = [](auto& codec, auto& row) {
  codec.text(row.name);
  codec.text(row.value);
};
constexpr auto cpu_rows = [](auto& codec, auto& row) {
  codec.number(row.cpu.cpu_ns);
  codec.number(row.cpu.wait_ns);
  codec.number(row.cpu.switches);
  codec.number(row.cpu.readings);
  codec.number(row.cpu.has_wait);
  codec.numbers(row.cpus.cores);
  codec.number(row.cpus.processors);
  codec.number(row.cpus.node_cores);
  codec.number(row.cpus.node_processors);
  codec.number(row.cpus.granted_milli);
  codec.text(row.cpus.group);
  codec.number(row.cpus.has_core_wait);
};
constexpr auto rank_row = [](auto& codec, auto& row) {
  codec.signed_number(row.world_rank);
  codec.number(row.node);
  codec.signed_number(row.step_node);
  codec.signed_number(row.pid);
  codec.number(row.calls);
  codec.number(row.mpi_time_ns);
  codec.number(row.startup_ns);
  codec.number(row.wall_ns);
  codec.number(row.thread_count);
  codec.number(row.overhead_ns);
  codec.number(row.trace_bytes);
  codec.choice(row.end_state, EndState::kRecovered);
  codec.number(row.is_standalone);
  cpu_rows(codec, row);
};
constexpr auto file_row = [](auto& codec, auto& row) {
  codec.text(row.name);
  codec.number(row.totals.opens);
  codec.number(row.totals.reads);
  codec.number(row.totals.writes);
  codec.number(row.totals.bytes_read);
  codec.number(row.totals.bytes_written);
  codec.number(row.totals.time);
  codec.number(row.totals.ranks);
};
constexpr auto call_site_row = [](auto& codec, auto& row) {
  codec.text(row.function);
  codec.text(row.site.module);
  codec.number(row.site.offset);
  codec.text(row.site.build_id);
  codec.text(row.site.function);
  codec.text(row.site.file);
  codec.number(row.site.line);
  codec.number(row.totals.calls);
  codec.number(row.totals.time);
};
constexpr auto region_row = [](auto& codec, auto& row) {
  codec.text(row.name);
  codec.number(row.totals.calls);
  codec.number(row.totals.time);
  codec.number(row.totals.max_time);
};
constexpr auto wait_row = [](auto& codec, auto& row) {
  codec.signed_number(row.world_rank);
  codec.text(row.function);
  codec.text(row.comm);
  codec.number(row.calls);
  codec.number(row.time_ns);
};
constexpr auto pair_row = [](auto& codec, auto& row) {
  codec.signed_number(row.source);
  codec.signed_number(row.destination);
  codec.number(row.messages);
  codec.number(row.bytes);
};
constexpr auto pending_row = [](auto& codec, auto& row) {
  codec.signed_number(row.world_rank);
  codec.text(row.function);
  codec.text(row.comm);
  codec.signed_number(row.peer);
  codec.number(row.since_ns);
  codec.number(row.time_ns);
};
constexpr auto sizes = [](auto& codec, auto& row) {
  codec.number(row.messages);
  codec.number(row.bytes);
};

template <class Codec, class Report>
void describe(Codec& codec, Report& report) {
  codec.text(report.run.version);
  codec.text(report.run.run_id);
  codec.text(report.run.job);
  codec.rows(report.run.launcher, kMaxLauncherFacts, fact_row);
  codec.text(report.run.world);
  codec.text(report.run.parent_world);
  codec.text(report.run.mpi_library);
  codec.number(report.run.interfaces);
  codec.rows(report.run.unrecorded, kMaxUnrecorded, text_row);
  codec.rows(report.run.programs, kMaxPrograms, text_row);
  codec.signed_number(report.world_size);
  codec.signed_number(report.start_realtime_ns);
  codec.rows(report.nodes, kMaxRanks, text_row);
  codec.rows(report.ranks, kMaxRanks, rank_row);
  codec.number(report.unpacked_trace_bytes);
  codec.rows(report.functions, kMaxFunctions, function_row);
  codec.rows(report.comms, kMaxComms, comm_row);
  codec.rows(report.files, kMaxFiles, file_row);
  codec.rows(report.call_sites, kMaxCallSites, call_site_row);
  codec.rows(report.regions, kMaxRegions, region_row);
  codec.rows(report.pairs, kMaxPairs, pair_row);
  codec.number(report.pair_count);
  sizes(codec, report.messages);
  for (auto& row : report.message_sizes) sizes(codec, row);
  for (auto& row : report.collective_sizes) sizes(codec, row);
  codec.rows(report.waits, kMaxWaits, wait_row);
  codec.rows(report.pending, kMaxPending, pending_row);
  codec.number(report.pending_count);
  for (auto& count : report.losses) codec.number(count);
  codec.number(report.covers_all_calls);
  codec.rows(report.notes, kMaxNotes, text_row);
}

/// Checks the invariants that the other functions in this directory need.
bool is_consistent(const RunReport& report) {
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    if (report.ranks[i].node >= report.nodes.size() || report.ranks[i].world_rank < 0) return false;
    if (i > 0 && report.ranks[i - 1].world_rank >= report.ranks[i].world_rank) return false;
  }
  for (std::size_t i = 1; i < report.functions.size(); ++i) {
    if (report.functions[i - 1].name >= report.functions[i].name) return false;
  }
  for (std::size_t i = 1; i < report.comms.size(); ++i) {
    const CommRow& a = report.comms[i - 1];
    const CommRow& b = report.comms[i];
    if (std::pair(a.kind, a.global_name) >= std::pair(b.kind, b.global_name)) return false;
  }
  for (std::size_t i = 1; i < report.files.size(); ++i) {
    if (report.files[i - 1].name >= report.files[i].name) return false;
  }
  for (std::size_t i = 1; i < report.regions.size(); ++i) {
    if (report.regions[i - 1].name >= report.regions[i].name) return false;
  }
  const auto call_site_key = [](const CallSiteRow& row) {
    return std::tie(row.site.module, row.site.offset, row.site.build_id, row.function);
  };
  for (std::size_t i = 1; i < report.call_sites.size(); ++i) {
    if (call_site_key(report.call_sites[i - 1]) >= call_site_key(report.call_sites[i]))
      return false;
  }
  return true;
}

}  // namespace

void serialize(const RunReport& report, std::vector<std::byte>& to) {
  Writer writer{WireWriter(to)};
  writer.number(kFormat);
  describe(writer, report);
}

Status parse(std::span<const std::byte> from, RunReport& report) {
  Reader reader{WireReader(from)};
  if (reader.in.number() != kFormat) return Status::error("report: written by another version");
  RunReport read;
  describe(reader, read);
  if (!reader.in.is_at_end() || !is_consistent(read)) return Status::error("report: damaged");
  read.conclusion.directory = report.conclusion.directory;
  read.conclusion.report_command = report.conclusion.report_command;
  read.conclusion.exports = report.conclusion.exports;
  report = std::move(read);
  return Status::ok();
}

}  // namespace megascope::report
