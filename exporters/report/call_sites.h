#pragma once

#include "core/profile/profile.h"
#include "exporters/report/run_report.h"

#include <functional>
#include <string>

namespace megascope::report {

/// Adds one row for each call site of each function of one process. Adds none if no call sites were
/// recorded. Calls without a call site are in a row without one, so that the rows of a function add
/// up to its row in report.functions, which must exist. function_of: a region's name in that table.
void describe_call_sites(const ProcessDefinitions& definitions, const Profile& profile,
                         double ns_per_unit,
                         const std::function<std::string(RegionId)>& function_of,
                         RunReport& report);

/// "solve (heat.c:42)"; "(place not known)".
std::string call_site_text(const CallSiteRow& row);

}  // namespace megascope::report
