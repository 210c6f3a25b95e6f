#pragma once

#include "core/record/definitions.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::symbols {

/// Sets function, file and line of call sites; implements ResolveFunction
/// (core/lifecycle/export_job.h). Reads debug information from the module itself, from
/// /usr/lib/debug/.build-id, or from the separate file that the module names. Call sites of a
/// module that is missing or has changed since the run keep their recorded values. notes: receives
/// sentences for the user about such modules. One thread at a time.
void resolve_call_sites(std::span<CallSiteDefinition* const> sites, std::int64_t run_start_ns,
                        std::vector<std::string>& notes);

}  // namespace megascope::symbols
