#pragma once

#include <string_view>

/// Standard error of the application. The application may close descriptor 2 and open a file that
/// receives the number; the library must not write to that file.
namespace megascope::standard_error {

/// Returns whether descriptor 2 still refers to the file that it referred to when the library was
/// loaded. Any thread.
bool is_unchanged() noexcept;

/// Returns whether is_unchanged() holds and descriptor 2 is a terminal, so that only its user reads
/// what is written.
bool is_terminal() noexcept;

/// Writes `text` with one system call if is_unchanged(); otherwise does nothing. A broken pipe
/// raises no signal. Allocates nothing. Any thread.
void write(std::string_view text) noexcept;

}  // namespace megascope::standard_error
