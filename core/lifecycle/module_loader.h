#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

#include <string>

namespace megascope {

/// Loads `libmegascope_<name>.so` from `directory` and returns its table, which exists
/// until the process ends. Returns an error if the file does not exist, cannot be loaded (a library
/// that it needs is missing) or comes from another build. Any thread.
Status load_module(const std::string& directory, const std::string& name,
                   const ModuleTable*& table);

/// Returns the directory of the shared object or executable that contains `address`, without final
/// slash; empty if unknown.
std::string directory_of_code(const void* address);

}  // namespace megascope
