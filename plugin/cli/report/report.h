#pragma once

#include <string>

namespace megascope::cli {

struct ReportArguments {
  std::string directory;
  bool as_json = false;
  int jobs = 0;  ///< number of processes; 0: one a core
};
/// Prints the report of a run.
int print_report(const ReportArguments& arguments);

}  // namespace megascope::cli
