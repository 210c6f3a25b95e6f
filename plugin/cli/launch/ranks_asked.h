#pragma once

#include "plugin/cli/launch/launcher.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace megascope::cli {

/// The number of ranks that a launcher's command line requests.
struct RanksAsked {
  /// Sum over all programs of the command line; 0 if the number is not given for one of them.
  std::int64_t count = 0;
  bool names_hosts = false;  ///< the command line names the hosts
};

/// Parses the launcher's options. A command line may start several programs, separated by ":"; the
/// options of each end at the program's name. is_program: returns whether a word is the name of an
/// executable. Pure if is_program is.
RanksAsked ranks_asked(const std::vector<std::string>& command, LauncherKind kind,
                       const std::function<bool(const std::string&)>& is_program);

}  // namespace megascope::cli
