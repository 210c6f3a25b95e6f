#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope {

/// Looks up function, file and line of call sites by the module `symbols` in `folder`
/// (export_job.h, ResolveFunction); does nothing without sites. notes: gets a sentence for each
/// module that could not be used, one when `symbols` itself could not.
void resolve_places(const std::string& folder, std::span<CallSiteDefinition* const> sites,
                    std::int64_t run_start_ns, std::vector<std::string>& notes);

}  // namespace megascope
