#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::symbols {

/// core/lifecycle/export_job.h, ResolveFunction. Debug information is taken from the module itself,
/// from /usr/lib/debug/.build-id, or from the file that it names beside it. Where a module is gone
/// or has changed since the run, its sites keep what was recorded. One thread at a time.
void resolve_call_sites(std::span<CallSiteDefinition* const> sites, std::int64_t run_start_ns,
                        std::vector<std::string>& notes);

}  // namespace megascope::symbols
