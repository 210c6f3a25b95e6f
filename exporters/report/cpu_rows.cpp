#include "exporters/report/cpu_rows.h"

#include "core/base/text.h"
#include "core/record/cpu_reading.h"

#include <algorithm>
#include <optional>

namespace megascope::report {
namespace {

constexpr std::size_t kMaxSets = 4;
constexpr double kWorthShowing = 0.01;  ///< fraction of a rank's time

std::uint64_t whole(double value) {
  return value > 0 && value < 9e18 ? static_cast<std::uint64_t>(value) : 0;
}

void add(const CpuReading& first, const CpuReading& last, CpuTotals& totals) {
  totals.cpu_ns += whole(last.cpu_ns - first.cpu_ns);
  if (first.switches && last.switches) totals.switches += whole(*last.switches - *first.switches);
  if (!first.wait_ns || !last.wait_ns) return;
  totals.wait_ns += whole(*last.wait_ns - *first.wait_ns);
  totals.has_wait = true;
}

std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}

}  // namespace

CpuTotals cpu_totals_of(const RecordSource& source, std::int32_t world_rank) {
  CpuTotals totals;
  for (const LocationDefinition& location : source.process(world_rank).locations) {
    CpuReadings readings(source.points(world_rank, location.id));
    std::optional<CpuReading> first;
    CpuReading last;
    std::uint64_t count = 0;
    for (; readings.next(last); ++count) {
      if (!first) first = last;
    }
    totals.readings += count;
    if (count > 1) add(*first, last, totals);
  }
  return totals;
}

std::vector<SharedCores> shared_cores_of(const RunReport& report) {
  std::vector<RankCpus> ranks;
  for (const RankRow& rank : report.ranks)
    ranks.push_back({rank.world_rank, report.nodes[rank.node], rank.cpus});
  return shared_cores(ranks);
}

std::vector<std::string> shared_cores_texts(const RunReport& report) {
  const std::vector<SharedCores> all = shared_cores_of(report);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(all.size(), kMaxSets); ++i) texts.push_back(to_text(all[i]));
  if (all.size() > kMaxSets)
    texts.push_back("and " + std::to_string(all.size() - kMaxSets) + " more such sets of ranks");
  const bool has_wait = std::ranges::all_of(
      report.ranks, [](const RankRow& rank) { return rank.cpus.has_core_wait; });
  if (!all.empty() && !has_wait)
    texts.back() +=
        "; the kernel does not report how long they waited for a core "
        "(/proc/thread-self/schedstat)";
  return texts;
}

bool shows_cpu(const RunReport& report) {
  if (std::ranges::all_of(report.ranks, [](const RankRow& rank) { return rank.cpu.readings == 0; }))
    return false;
  const bool has_waited = std::ranges::any_of(report.ranks, [](const RankRow& rank) {
    return static_cast<double>(rank.cpu.wait_ns) >=
           kWorthShowing * static_cast<double>(std::max<std::uint64_t>(rank.wall_ns, 1));
  });
  return has_waited || !shared_cores_of(report).empty();
}

std::string cpu_cell(const RankRow& rank) {
  return rank.cpu.readings == 0 ? "?" : duration(rank.cpu.cpu_ns);
}
std::string core_wait_cell(const RankRow& rank) {
  return rank.cpu.has_wait ? duration(rank.cpu.wait_ns) : "?";
}

}  // namespace megascope::report
