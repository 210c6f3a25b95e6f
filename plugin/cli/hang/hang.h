#pragma once

#include <string>

namespace megascope::cli {

struct HangArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of threads; 0: one a core
};
/// Prints which ranks wait for which. kFinding: the run is blocked. Changes no file.
int show_hang(const HangArguments& arguments);

}  // namespace megascope::cli
