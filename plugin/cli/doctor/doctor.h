#pragma once

#include <string>
#include <vector>

namespace megascope::cli {

struct DoctorArguments {
  /// Program or launcher with arguments; empty: checks of the machine only.
  std::vector<std::string> command;
  bool as_json = false;
};
/// Prints what will not work on this machine and what to do. kFinding: there is a problem. Does not
/// start MPI and changes nothing.
int examine_machine(const DoctorArguments& arguments);

}  // namespace megascope::cli
