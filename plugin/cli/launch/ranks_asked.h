#pragma once

#include "plugin/cli/launch/launcher.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace megascope::cli {

/// The number of ranks that a launcher's command line requests.
struct RanksAsked {
  std::int64_t count = 0;    ///< over all programs between colons; 0: not given for all of them
  bool names_hosts = false;  ///< the command line names the hosts
};

/// Parses the launcher's options, which end at the program's name. is_program: whether a word can
/// be executed. Pure apart from it.
RanksAsked ranks_asked(const std::vector<std::string>& command, LauncherKind kind,
                       const std::function<bool(const std::string&)>& is_program);

}  // namespace megascope::cli
