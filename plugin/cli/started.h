#pragma once

#include "plugin/cli/launcher.h"

#include <string>
#include <vector>

/// What a command line starts.
namespace megascope::cli {

/// Is `command` a launcher, and whose? Where only it can tell, it is run with --version.
LauncherKind kind_of(const std::string& command);

/// The program that a launcher's command line starts: its first word that is a program, behind the
/// launcher. Empty: not found.
std::string started_program(const std::vector<std::string>& command, LauncherKind kind);

}  // namespace megascope::cli
