#pragma once

#include "core/record/profile.h"
#include "exporters/report/run_report.h"

#include <functional>
#include <string>

namespace megascope::report {

/// Adds rows for one process's calls by place; none where no place was recorded. What a function
/// has beyond the calls that told their place is in a row without one, so that each function's rows
/// add up to its row in report.functions, which is there. function_of: a region's name in that
/// table.
void describe_places(const ProcessDefinitions& definitions, const Profile& profile,
                     double ns_per_unit, const std::function<std::string(RegionId)>& function_of,
                     RunReport& report);

/// "solve (heat.c:42)"; "(place not known)".
std::string place_text(const PlaceRow& row);

}  // namespace megascope::report
