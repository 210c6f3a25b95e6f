#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

#include <string>

namespace megascope {

/// Opens `libmegascope_<name>.so` in `folder` and returns its table, which lives until the process
/// ends. An error when it is not there, cannot be loaded (a library it needs is missing) or comes
/// from another build. Any thread.
Status load_module(const std::string& folder, const std::string& name, const ModuleTable*& table);

/// Folder of the shared object or program that contains `address`, without final slash; empty if
/// not known.
std::string folder_of_code(const void* address);

}  // namespace megascope
