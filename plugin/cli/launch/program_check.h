#pragma once

#include "exporters/report/nothing_recorded.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// The file that a shell would run for `name`, as absolute path with links resolved; empty if there
/// is none.
std::string find_program(const std::string& name);

/// Returns the path of the dynamic loader (PT_INTERP) of an ELF program. Returns an empty string if
/// the program has no loader, or if the file is not an ELF program for this machine.
std::string loader_of(const std::string& path);

/// Checks an ELF file for reasons why LD_PRELOAD does not work on it: it is statically linked,
/// contains the MPI library, is for another processor architecture, is setuid, uses another MPI
/// library, or calls MPI through Fortran interfaces that this build does not intercept. Adds the
/// reasons to facts.found and facts.details. Adds nothing for files that are not ELF, such as
/// scripts. Reads a bounded part of the file.
void check_program(const std::string& path, report::NothingRecorded& facts);

}  // namespace megascope::cli
