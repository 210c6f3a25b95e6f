#include "exporters/report/call_sites.h"

#include <algorithm>
#include <map>
#include <vector>

namespace megascope::report {
namespace {

constexpr std::size_t kMaxNameBytes = 200;

std::uint64_t scaled(std::uint64_t value, double factor) {
  return factor == 1.0 ? value : static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

/// The call sites of one function, and the remaining calls. Times in the profile's unit.
struct FunctionCallSites {
  std::vector<CallSiteRow> rows;
  std::uint64_t other_calls = 0;
  std::uint64_t other_time = 0;
};

CallSiteDefinition site_of(const ProcessDefinitions& definitions, std::uint32_t number) {
  if (number >= definitions.call_sites.size()) return {};
  CallSiteDefinition site = definitions.call_sites[number];
  site.id = 0;
  site.function.resize(std::min(site.function.size(), kMaxNameBytes));
  return site;
}

std::map<std::string, FunctionCallSites> by_function(
    const ProcessDefinitions& definitions, const Profile& profile,
    const std::function<std::string(RegionId)>& function_of) {
  std::map<std::string, FunctionCallSites> all;
  for (const ProfileRow& row : profile.rows()) {
    FunctionCallSites& site_rows = all[function_of(row.key.region)];
    site_rows.other_calls += row.totals.calls;
    site_rows.other_time += row.totals.time;
  }
  for (const SiteTotals& totals : profile.sites().rows()) {
    const std::string function = function_of(totals.region);
    FunctionCallSites& site_rows = all[function];
    CallSiteRow& row = site_rows.rows.emplace_back();
    row.function = function;
    row.site = site_of(definitions, totals.site);
    row.totals.calls = totals.calls;
    row.totals.time = totals.time;
    site_rows.other_calls -= std::min(site_rows.other_calls, totals.calls);
    site_rows.other_time -= std::min(site_rows.other_time, totals.time);
  }
  return all;
}

/// Adds the rounding difference to the largest row.
void make_exact(std::vector<CallSiteRow>& rows, std::uint64_t function_time_ns) {
  if (rows.empty()) return;
  std::uint64_t sum_ns = 0;
  for (const CallSiteRow& row : rows) sum_ns += row.totals.time;
  const auto heaviest = std::ranges::max_element(
      rows, {}, [](const CallSiteRow& row) { return row.totals.time; });
  heaviest->totals.time += function_time_ns - sum_ns;
}

}  // namespace

void describe_call_sites(const ProcessDefinitions& definitions, const Profile& profile,
                         double ns_per_unit,
                         const std::function<std::string(RegionId)>& function_of,
                         RunReport& report) {
  if (profile.sites().rows().empty()) return;
  for (auto& [function, site_rows] : by_function(definitions, profile, function_of)) {
    if (site_rows.other_calls != 0 || site_rows.other_time != 0) {
      CallSiteRow& row = site_rows.rows.emplace_back();
      row.function = function;
      row.totals.calls = site_rows.other_calls;
      row.totals.time = site_rows.other_time;
    }
    for (CallSiteRow& row : site_rows.rows) row.totals.time = scaled(row.totals.time, ns_per_unit);
    const auto whole = std::ranges::find(report.functions, function, &FunctionRow::name);
    if (whole != report.functions.end()) make_exact(site_rows.rows, whole->totals.time);
    report.site_rows.insert(report.site_rows.end(), site_rows.rows.begin(), site_rows.rows.end());
  }
}

std::string call_site_text(const CallSiteRow& row) {
  if (row.function == kOthersName) return kOthersName;
  return row.site == CallSiteDefinition{} ? "(place not known)" : call_site_of(row.site);
}

}  // namespace megascope::report
