#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Access to the process environment. Other code does not read or change the environment; it
/// receives values.
namespace megascope::config {

/// Returns copies of the entries "NAME=VALUE" whose name begins with `prefix`, in the order of the
/// environment. As with getenv, no other thread may change the environment meanwhile.
std::vector<std::string> environment_entries(std::string_view prefix = "MEGASCOPE_");

/// Returns the value of `name`; empty if it is not set. For variables of launchers such as
/// SLURM_JOB_ID; use load_options() for options. No other thread may change the environment
/// meanwhile.
std::string environment_value(const char* name);

/// Sets `name` for this process and its children. Used by `megascope run` before it executes the
/// command, in a single-threaded process. Returns false if memory runs out or `name` is not a valid
/// name.
bool set_environment_value(const char* name, const std::string& value);

}  // namespace megascope::config
