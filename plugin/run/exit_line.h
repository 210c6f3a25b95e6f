#pragma once

#include <string>

/// A line on standard error for a process that ends by exit(), or returns from main, without
/// MPI_Finalize.
namespace megascope::run::exit_line {

/// Arms the line. It is written once, after the application's own exit handlers, and not in forked
/// children. Of the processes that pass the same `directory`, only the first writes it; that
/// process marks the directory by setting its sticky bit.
void set(const std::string& line, const std::string& directory);
/// Disarms the line.
void clear() noexcept;

}  // namespace megascope::run::exit_line
