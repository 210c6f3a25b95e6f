#pragma once

#include "core/profile/profile.h"
#include "exporters/report/run_report.h"

#include <functional>
#include <string>

namespace megascope::report {

/// Adds one row for each call site of each function of one process. Adds no rows if no call sites
/// were recorded. The calls of a function that have no call site are in one row without a call
/// site. The rows of a function therefore add up to its row in report.functions, which must exist.
/// function_of: returns the name of a region in report.functions.
void describe_call_sites(const ProcessDefinitions& definitions, const Profile& profile,
                         double ns_per_unit,
                         const std::function<std::string(RegionId)>& function_of,
                         RunReport& report);

/// Returns a call site as text, for example "solve (heat.c:42)"; "(place not known)" if it is
/// unknown.
std::string call_site_text(const CallSiteRow& row);

}  // namespace megascope::report
