#pragma once

namespace megascope {

/// Looks up a symbol as the application does: in the executable, its linked libraries and the
/// preloaded ones. Returns nullptr if it is not defined there.
void* found_by_program(const char* symbol) noexcept;
/// Returns whether the address lies in this library.
bool is_of_this_library(const void* address) noexcept;
/// Returns whether this library was loaded with the program, so that the program's MPI calls come
/// through it; false if dlopen loaded it later.
bool is_loaded_with_program() noexcept;

}  // namespace megascope
