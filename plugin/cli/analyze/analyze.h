#pragma once

#include <string>

namespace megascope::cli {

struct AnalyzeArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of threads; 0: one a core
};
/// Prints which ranks delayed others and why. kFinding: a root cause was found. Changes no file.
int analyze_run(const AnalyzeArguments& arguments);

}  // namespace megascope::cli
