#include "core/base/text.h"
#include "core/base/text_table.h"
#include "core/record/mpi_function.h"
#include "exporters/report/call_sites.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace megascope::report {
namespace {

/// Calls of one function from one source line, which may comprise several instructions.
/// line.
struct Shown {
  std::string function;
  std::string call_site;
  CallTotals totals;
};

constexpr std::size_t kFunctionColumns = 28;
constexpr std::size_t kNameColumns = 68;  ///< for function and call site

std::vector<Shown> by_time(const RunReport& report) {
  std::map<std::pair<std::string, std::string>, CallTotals> sums;
  for (const CallSiteRow& row : report.call_sites) {
    const bool says_nothing = row.site == CallSiteDefinition{} &&
                              row.totals.time == 0;  // MPI_Finalize
    if (!mpi_function(row.function).starts_mpi && !says_nothing)
      sums[{row.function, call_site_text(row)}].add(row.totals);
  }
  std::vector<Shown> shown;
  for (const auto& [key, totals] : sums) shown.push_back({key.first, key.second, totals});
  std::ranges::sort(shown, [](const Shown& a, const Shown& b) {
    return std::tie(b.totals.time, b.totals.calls, a.function, a.call_site) <
           std::tie(a.totals.time, a.totals.calls, b.function, b.call_site);
  });
  return shown;
}

}  // namespace

Lines call_site_section(const RunReport& report, const RowLimits& limits) {
  const std::vector<Shown> all = by_time(report);
  if (all.empty() || limits.call_sites == 0) return {};
  std::uint64_t all_ns = 0;
  for (const Shown& row : all) all_ns += row.totals.time;
  const std::size_t shown = all.size() <= limits.call_sites ? all.size() : limits.call_sites - 1;
  std::size_t function_columns = 0;
  for (std::size_t i = 0; i < shown; ++i)
    function_columns = std::max(function_columns, display_width(all[i].function));
  function_columns = std::min(function_columns, kFunctionColumns);
  const std::size_t call_site_columns = kNameColumns - function_columns;
  Table table({{"function", Table::Align::kLeft, kFunctionColumns},
               {"place", Table::Align::kLeft, call_site_columns},
               {"calls"},
               {"time"},
               {"of MPI"}});
  const auto add = [&](const std::string& function, const std::string& call_site,
                       const CallTotals& totals) {
    const double share = all_ns == 0
                             ? 0
                             : static_cast<double>(totals.time) / static_cast<double>(all_ns);
    table.add({function, printable_end(call_site, call_site_columns), human_count(totals.calls),
               human_duration(static_cast<std::int64_t>(totals.time)), percent_text(share)});
  };
  for (std::size_t i = 0; i < shown; ++i) add(all[i].function, all[i].call_site, all[i].totals);
  CallTotals rest;
  for (std::size_t i = shown; i < all.size(); ++i) rest.add(all[i].totals);
  if (shown < all.size()) add(fmt::format("({} more)", all.size() - shown), ".", rest);
  Lines lines = {"Calls by call site, all ranks together"};
  for (const std::string& line : table.lines(2)) lines.push_back(line);
  return lines;
}

}  // namespace megascope::report
