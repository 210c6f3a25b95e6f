#pragma once

#include "plugin/cli/launcher.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace megascope::cli {

/// What a launcher's command line says of ranks.
struct RanksAsked {
  std::int64_t count = 0;  ///< of all programs between colons together; 0: not said, or not of all
  bool names_hosts = false;  ///< where they run is given by the user: a list or a file of hosts
};

/// By the launcher's own options, which end where the program is named. is_program: can a word be
/// started? Pure but for that.
RanksAsked ranks_asked(const std::vector<std::string>& command, LauncherKind kind,
                       const std::function<bool(const std::string&)>& is_program);

}  // namespace megascope::cli
