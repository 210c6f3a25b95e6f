#pragma once

#include "plugin/cli/launch/launcher.h"

#include <string>
#include <vector>

/// Analyzes the command line to be run.
namespace megascope::cli {

/// Returns the kind of launcher of `command`. If the name does not determine the kind, runs
/// `command --version`.
LauncherKind kind_of(const std::string& command);

/// Returns the program that a launcher's command line starts: the first word after the launcher
/// that is an executable. Returns an empty string if there is no such word.
std::string started_program(const std::vector<std::string>& command, LauncherKind kind);

}  // namespace megascope::cli
