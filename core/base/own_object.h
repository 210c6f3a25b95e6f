#pragma once

namespace megascope {

/// What the program itself finds under this name: in it, what it was linked with, and what was
/// preloaded. nullptr: nothing.
void* found_by_program(const char* symbol) noexcept;
/// Does the address lie in this library?
bool is_of_this_library(const void* address) noexcept;
/// Was this library loaded with the program, so that calls come through it? False: it was opened
/// later, by dlopen.
bool is_loaded_with_program() noexcept;

}  // namespace megascope
