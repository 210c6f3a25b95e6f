#pragma once

#include <string>
#include <vector>

namespace megascope::cli {

struct RunArguments {
  std::string out;      ///< MEGASCOPE_OUT; empty: unchanged
  std::string exports;  ///< MEGASCOPE_EXPORT; empty: unchanged
  std::vector<std::string> command;
};
/// Runs a program or a launcher with recording. Ends with the exit code or fatal signal of the
/// command.
int run_command(const RunArguments& arguments);

}  // namespace megascope::cli
