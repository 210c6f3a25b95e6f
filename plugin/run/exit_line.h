#pragma once

#include <string>

/// A line on standard error for the case that the program ends, by exit() or at the end of main,
/// without MPI_Finalize.
namespace megascope::run::exit_line {

/// From now on `line` is written when this process exits, after the program's own exit handlers;
/// not in its forked children, and by one process only of those that give the same `folder`, a
/// directory of theirs: the first, which sets its sticky bit.
void set(const std::string& line, const std::string& folder);
/// Nothing is written any more.
void clear() noexcept;

}  // namespace megascope::run::exit_line
