#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope {

/// Looks up function, file and line of call sites with the module `symbols` in the directory
/// `directory` (export_job.h, ResolveFunction). Does nothing without sites. notes: receives a
/// sentence for each program file that could not be used, or one if `symbols` itself could not be
/// loaded.
void locate_call_sites(const std::string& directory, std::span<CallSiteDefinition* const> sites,
                       std::int64_t run_start_ns, std::vector<std::string>& notes);

}  // namespace megascope
