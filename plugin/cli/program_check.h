#pragma once

#include "exporters/report/nothing_recorded.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// The file that a shell would run for `name`: absolute, links resolved; empty when there is none.
std::string find_program(const std::string& name);

/// The loader that a program names, of an ELF program of this machine; empty: none, or another kind
/// of file.
std::string loader_of(const std::string& path);

/// Looks at an ELF file for reasons why a preload does not work on it: linked statically or with
/// MPI inside, for another machine, run with other rights, another MPI library, Fortran. Fills in
/// `found` and `details`; files of other kinds (scripts) tell nothing. Bounded reads.
void check_program(const std::string& path, report::NothingRecorded& facts);

}  // namespace megascope::cli
