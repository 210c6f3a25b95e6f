#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The process environment. The only place that reads or changes it: everybody else is given
/// values.
namespace megascope::config {

/// The entries "NAME=VALUE" whose name begins with `prefix`, copied, in the environment's order.
/// Not while another thread changes the environment, as with getenv.
std::vector<std::string> environment_entries(std::string_view prefix = "MEGASCOPE_");

/// The value of `name`, or empty when it is not set. For launchers' variables, such as
/// SLURM_JOB_ID; options come from `load_options`. Same threads as above.
std::string environment_value(const char* name);

/// Sets `name` for this process and its children. For `megascope run`, before it executes the
/// command; one thread only. false: no memory, or not a name.
bool set_environment_value(const char* name, const std::string& value);

}  // namespace megascope::config
