#pragma once

#include "exporters/report/nothing_recorded.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// The file that a shell would run for `name`, as absolute path with links resolved; empty if there
/// is none.
std::string find_program(const std::string& name);

/// The dynamic loader (PT_INTERP) of an ELF program for this machine; empty: none, or not such a
/// file.
std::string loader_of(const std::string& path);

/// Checks an ELF file for reasons why LD_PRELOAD does not work on it: statically linked, MPI linked
/// in, other machine, setuid, other MPI library, Fortran. Adds to `found` and `details`. Other
/// files (scripts) give no result. Bounded reads.
void check_program(const std::string& path, report::NothingRecorded& facts);

}  // namespace megascope::cli
