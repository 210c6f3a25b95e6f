#pragma once

#include <string_view>

/// Standard error of a program into which the library was loaded. The program may close descriptor
/// 2, and open a file of its own that gets the number: nothing may be written there.
namespace megascope::standard_error {

/// True while descriptor 2 is the file that it was when this code was loaded. Any thread.
bool is_unchanged() noexcept;

/// is_unchanged(), and a terminal: only who sits at it reads what is written.
bool is_terminal() noexcept;

/// Writes `text` in one call if is_unchanged(), else nothing. A broken pipe raises no signal. No
/// allocation. Any thread.
void write(std::string_view text) noexcept;

}  // namespace megascope::standard_error
