#pragma once

#include "plugin/cli/launch/launcher.h"

#include <string>
#include <vector>

/// Analyzes the command line to be run.
namespace megascope::cli {

/// The kind of launcher of `command`. Runs `command --version` if the name does not tell.
LauncherKind kind_of(const std::string& command);

/// The program that a launcher's command line starts: the first word after the launcher that is an
/// executable. Empty: not found.
std::string started_program(const std::vector<std::string>& command, LauncherKind kind);

}  // namespace megascope::cli
