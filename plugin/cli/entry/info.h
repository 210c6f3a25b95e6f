#pragma once

#include <string>

namespace megascope::cli {

struct InfoArguments {
  std::string trace;  ///< path of a trace file; empty: information about this build
  bool as_json = false;
  bool as_options_markdown = false;
  bool as_functions = false;
};
/// Prints version, features and options of this build.
int show_info(const InfoArguments& arguments);

}  // namespace megascope::cli
