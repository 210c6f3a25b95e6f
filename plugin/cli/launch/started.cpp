#include "plugin/cli/launch/started.h"

#include "plugin/cli/launch/child.h"
#include "plugin/cli/launch/program_check.h"

namespace megascope::cli {

LauncherKind kind_of(const std::string& command) {
  const std::string path = find_program(command);
  const LauncherKind kind = launcher_kind(command, path);
  if (kind != LauncherKind::kMpi || path.empty()) return kind;
  return launcher_kind_by_version(output_of({command, "--version"}));
}

std::string started_program(const std::vector<std::string>& command, LauncherKind kind) {
  if (kind == LauncherKind::kNone) return find_program(command.front());
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i].starts_with('-')) continue;
    const std::string program = find_program(command[i]);
    if (!program.empty()) return program;
  }
  return {};
}

}  // namespace megascope::cli
